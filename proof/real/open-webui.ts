/**
 * Runs Open WebUI in a browser in front of the gateway: a conversation with a tool, visible reasoning, an uploaded
 * screenshot, and a stop. Writes the picture of `docs/clients.md`.
 *
 *     proof/real/setup-open-webui.sh && node proof/real/open-webui.ts
 *
 * The model and the vision model are scripted; the prompts show which reasoning came back. Needs Chromium (`$CHROMIUM`, or Debian's).
 */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { z } from "zod";
import { SEEN, startVision } from "../matrix/vision.ts";
import { startGatewayProcess } from "../../test/helpers/gateway-process.ts";
import { spelledIds } from "../../test/helpers/spelled.ts";
import { analysisIn } from "../../test/helpers/tool-loop.ts";
import { startVllmServer, toFrame } from "../../test/helpers/vllm-server.ts";
import { recordClientResult } from "./client-results.ts";

const HOME = process.env["OPEN_WEBUI_HOME"] ?? join(import.meta.dirname, ".open-webui");
const CHROMIUM = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
const IMAGES = join(import.meta.dirname, "../../docs/images");
const PORT = 18_799;
const MODEL = "gpt-oss-with-weather";

const TOOL = `
class Tools:
    def get_weather(self, city: str) -> str:
        """
        Tells the weather in a city.
        :param city: The city's name.
        """
        return f"It is 21 degrees and sunny in {city}."
`;

/** The content of the uploaded screenshot. */
const TERMINAL = `<body style="margin: 0; background: #1e1e1e; color: #ddd; font: 20px monospace; padding: 20px">
<pre>$ npm test
✗ three tests failed</pre>`;

const prompts: string[] = [];
let stopped = 0;

async function complete(prompt: string, _: unknown, response: ServerResponse): Promise<void> {
  response.setHeader("content-type", "text/event-stream");
  if (!prompt.startsWith("<|start|>system")) {
    // The gateway's own probe.
    response.end(
      `${toFrame(spelledIds("<|return|>"), null)}${toFrame([], "stop")}data: [DONE]\n\n`,
    );
    return;
  }
  prompts.push(prompt);
  for (const id of spelledIds(write(prompt))) {
    if (response.destroyed) break;
    response.write(toFrame([id], null));
    await pause(15);
  }
  if (response.destroyed) stopped++;
  else response.end(`${toFrame([], "stop")}data: [DONE]\n\n`);
}

function write(prompt: string): string {
  const [turn = ""] = prompt.split("<|start|>user").slice(-1);
  if (turn.includes("Count")) {
    const numbers = Array.from({ length: 4_000 }, (_, n) => `${n + 1}`).join(", ");
    return `<|channel|>final<|message|>${numbers}<|return|>`;
  }
  if (turn.includes(SEEN)) {
    return (
      "<|channel|>analysis<|message|>The description names a terminal and the text in it.<|end|>" +
      "<|start|>assistant<|channel|>final<|message|>It is a terminal, which says that **three tests failed**.<|return|>"
    );
  }
  if (!turn.includes("weather in Lisbon")) {
    return "<|channel|>final<|message|>{}<|return|>";
  }
  if (!turn.includes(" to=assistant")) {
    return (
      "<|channel|>analysis<|message|>The user wants the weather in Lisbon, which I can look up.<|end|>" +
      '<|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city":"Lisbon"}<|call|>'
    );
  }
  return (
    "<|channel|>analysis<|message|>The tool says 21 degrees and sunny. I pass it on.<|end|>" +
    "<|start|>assistant<|channel|>final<|message|>In Lisbon it is **21 °C** and sunny.<|return|>"
  );
}

// ---- Open WebUI ------------------------------------------------------------------------------------

const engine = await startVllmServer({ isFrozen: () => false, complete });
const vision = await startVision();
const gateway = await startGatewayProcess([
  "--engine",
  "vllm",
  "--url",
  engine.url,
  ...vision.args,
]);
const data = mkdtempSync(join(tmpdir(), "open-webui-"));
const webui = spawn(
  join(HOME, "env/bin/open-webui"),
  ["serve", "--host", "127.0.0.1", "--port", String(PORT)],
  {
    stdio: "ignore",
    env: {
      PATH: process.env["PATH"],
      HOME: data,
      DATA_DIR: data,
      WEBUI_AUTH: "False",
      WEBUI_SECRET_KEY: "only for this run",
      OPENAI_API_BASE_URL: gateway.baseURL,
      OPENAI_API_KEY: "none",
      ENABLE_OLLAMA_API: "False",
      OFFLINE_MODE: "True",
      RAG_EMBEDDING_ENGINE: "openai",
      ENABLE_FOLLOW_UP_GENERATION: "False",
      ENABLE_TAGS_GENERATION: "False",
      ENABLE_TITLE_GENERATION: "False",
    },
  },
);

const checks: Record<string, boolean> = {};
try {
  await setUp(`http://127.0.0.1:${PORT}`);
  const browser = await playwright().chromium.launch({
    executablePath: CHROMIUM,
    args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
  });
  try {
    const terminal = await browser.newPage({ viewport: { width: 420, height: 120 } });
    await terminal.setContent(TERMINAL);
    const screenshot = await terminal.screenshot();
    await converse(await browser.newPage({ viewport: { width: 1100, height: 860 } }), screenshot);
  } finally {
    await browser.close();
  }
} finally {
  const closed = once(webui, "close");
  webui.kill("SIGKILL");
  await closed;
  await gateway.stop();
  vision.close();
  await engine.kill();
  rmSync(data, { recursive: true, force: true });
}
console.log(checks);
const names = Object.keys(checks);
const failed = names.filter((name) => checks[name] !== true);
recordClientResult("open-webui.ts", {
  client: `Open WebUI ${installedVersion()}`,
  date: new Date().toISOString().slice(0, 10),
  passed: names.filter((name) => checks[name] === true),
  failed,
});
if (failed.length > 0) process.exitCode = 1;

function installedVersion(): string {
  const code = 'import importlib.metadata; print(importlib.metadata.version("open-webui"))';
  const python = join(HOME, "env/bin/python");
  return execFileSync(python, ["-c", code], { encoding: "utf8" }).trim();
}

/** A tool, and a model that has it and calls by the API's own tools. */
async function setUp(url: string): Promise<void> {
  await until(async () => (await fetch(`${url}/health`)).ok);
  const post = async (path: string, body: object, token?: string): Promise<unknown> => {
    const response = await fetch(`${url}/api/v1/${path}`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return response.json();
  };
  const signedIn = z
    .object({ token: z.string() })
    .parse(await post("auths/signin", { email: "", password: "" }));
  const tool = { id: "weather", name: "Weather", content: TOOL, meta: { description: "Weather" } };
  await post("tools/create", tool, signedIn.token);
  const model = {
    id: MODEL,
    name: MODEL,
    base_model_id: "openai/gpt-oss-20b",
    meta: { toolIds: ["weather"] },
    params: { function_calling: "native" },
  };
  await post("models/create", model, signedIn.token);
}

async function converse(page: Page, screenshot: Buffer): Promise<void> {
  await page.goto(`http://127.0.0.1:${PORT}/?models=${MODEL}`);
  // The notes on its release.
  await page.getByText("Okay, Let's Go!").click();
  await send(page, "What is the weather in Lisbon?");
  await page.getByText("21 °C").waitFor();
  checks["the tool ran and the answer came"] = true;
  // The reasoning is collapsed with the call.
  await page.getByText("Explored").click();
  await page
    .getByText(/^Thought/)
    .first()
    .click();
  await page.getByText("which I can look up").waitFor();
  checks["the reasoning is shown"] = true;
  const [last = ""] = prompts.filter((prompt) => prompt.includes("21 degrees")).slice(-1);
  checks["the reasoning before the call is in the next prompt"] = analysisIn(last).some((text) =>
    text.includes("which I can look up"),
  );

  const file = { name: "terminal.png", mimeType: "image/png", buffer: screenshot };
  await page.locator("input[type=file]").first().setInputFiles(file);
  await page.locator("form img").first().waitFor();
  await send(page, "What does my screenshot show?");
  await page.getByText("three tests failed", { exact: true }).waitFor();
  const [described = ""] = prompts.slice(-1);
  checks["the model answers from the description of an uploaded screenshot"] =
    described.includes("[Image 1, PNG of 420 × 120 pixels.") && described.includes(SEEN);
  // The buttons below an answer come when it is complete.
  await until(async () => (await page.getByRole("button", { name: "Regenerate" }).count()) === 2);
  await page.screenshot({ path: join(IMAGES, "open-webui.png"), animations: "disabled" });

  await send(page, "Count without end.");
  await page.getByText("20, 21, 22").waitFor();
  await page.getByRole("button", { name: "Stop" }).click();
  await until(async () => stopped === 1);
  checks["its stop button stops the engine"] = true;
  checks["the screenshot is sent again and not described again"] =
    prompts.slice(-1).join().includes(SEEN) && vision.images() === 1;
}

async function send(page: Page, text: string): Promise<void> {
  await page.locator("#chat-input").click();
  await page.keyboard.type(text);
  await page.keyboard.press("Enter");
}

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 600; tries++) {
    if (await isTrue().catch(() => false)) return;
    await pause(500);
  }
  throw new Error("waited in vain");
}

/** The parts of `playwright-core` that are used; the project does not install it. */
interface Page {
  goto(url: string): Promise<unknown>;
  setContent(html: string): Promise<void>;
  getByText(text: string | RegExp, options?: { readonly exact: boolean }): Locator;
  getByRole(role: string, options: { readonly name: string }): Locator;
  locator(selector: string): Locator;
  readonly keyboard: { type(text: string): Promise<void>; press(key: string): Promise<void> };
  screenshot(options?: { readonly path: string; readonly animations: "disabled" }): Promise<Buffer>;
}

interface Locator {
  first(): Locator;
  click(): Promise<void>;
  count(): Promise<number>;
  setInputFiles(file: {
    readonly name: string;
    readonly mimeType: string;
    readonly buffer: Buffer;
  }): Promise<void>;
  waitFor(): Promise<void>;
}

interface Playwright {
  readonly chromium: {
    launch(options: {
      readonly executablePath: string;
      readonly args: readonly string[];
    }): Promise<{
      newPage(options: {
        readonly viewport: { readonly width: number; readonly height: number };
      }): Promise<Page>;
      close(): Promise<void>;
    }>;
  };
}

/** Loads Playwright from the folder created by the set-up script. */
function playwright(): Playwright {
  return createRequire(join(HOME, "package.json"))("playwright-core");
}
