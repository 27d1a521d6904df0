import { expect, onTestFinished, test, vi } from "vitest";
import { createServeKeys } from "../../../src/node/cli/serve-keys.ts";
import { startGateway } from "../../../src/node/index.ts";
import { testSettings } from "../../helpers/gateway.ts";

async function open(given = {}) {
  const settings = testSettings({ port: 0, inspect: true, ...given });
  const gateway = await startGateway({ ...settings, log: "silent" });
  onTestFinished(() => gateway.close());
  const printed: string[] = [];
  const opened: string[] = [];
  let isDebug = false;
  const keys = createServeKeys(gateway, {
    terminal: {
      print: (text) => printed.push(text),
      setStatus: () => {},
      toggleDebug: () => (isDebug = !isDebug),
    },
    settings,
    args: ["--engine", "demo"],
    environment: {},
    open: async (url) => opened.push(url) < 3,
  });
  const press = async (letter: string, ...words: string[]) => {
    await keys[letter]?.run(words);
    return printed.splice(0).join("\n");
  };
  return { gateway, press, opened };
}

test("o and i open the pages, or print their addresses", async () => {
  const { gateway, press, opened } = await open();
  expect(await press("o")).toBe(`  Opened ${gateway.origin}/`);
  expect(await press("i")).toBe(`  Opened ${gateway.inspectUrl}`);
  expect(opened).toEqual([`${gateway.origin}/`, gateway.inspectUrl]);
  expect(gateway.inspectUrl).toMatch(/#token=/);
  expect(await press("o")).toBe(`  No browser could be started. Open ${gateway.origin}/`);
});

test("an address that stands for all of this machine is opened as one of them", async () => {
  const { gateway, press, opened } = await open({ host: "0.0.0.0", open: true });
  await press("o");
  const { port } = new URL(gateway.baseUrl);
  expect(opened).toEqual([`http://127.0.0.1:${port}/`]);
  expect(await press("c", "opencode")).toContain(`"baseURL": "http://127.0.0.1:${port}/v1"`);
});

test("without an inspector, i says how to turn it on", async () => {
  const { press, opened } = await open({ inspect: false });
  expect(await press("i")).toBe("  The inspector is off: start the gateway with --inspect.");
  expect(opened).toEqual([]);
});

test("c lists clients, and prints the settings of one for this gateway", async () => {
  const { gateway, press } = await open({
    presets: { review: { model: "gpt-oss-20b" } },
    keys: [{ name: "me", sha256: "0".repeat(64) }],
  });
  expect(await press("c")).toContain("  c claude-code  Claude Code\n");
  expect(await press("c", "nothing")).toContain("  c codex        Codex\n");
  const text = await press("c", "opencode");
  expect(text).toContain(`"baseURL": "${gateway.origin}/v1",\n        "apiKey": "<your key>"`);
  expect(text).toContain('"review": {');
  expect(text).toContain(`harmony-gateway connect opencode --gateway ${gateway.origin}`);
});

test("e prints the state of each backend", async () => {
  const { gateway, press } = await open();
  await Promise.all(gateway.models.all.map((model) => model.probe(AbortSignal.timeout(5000))));
  await fetch(`${gateway.origin}/v1/chat/completions`, {
    method: "POST",
    body: JSON.stringify({ messages: [{ role: "user", content: "Hello!" }] }),
  }).then((response) => response.text());
  expect(await press("e")).toBe(
    "  openai/gpt-oss-20b: ready\n    demo  demo  up  0 running  1 done  0 failed",
  );
});

test("d examines the engines of the command", async () => {
  const { press } = await open();
  const text = await press("d");
  expect(text).toContain("  Asking the engines …");
  expect(text).toMatch(/reachable/);
});

test("d does not load a model of this process twice", async () => {
  const keys = createServeKeys(
    { origin: "", inspectUrl: undefined, models: { all: [], presets: [], find: () => undefined } },
    {
      terminal: {
        print: (text) =>
          expect(text).toMatch(/^ {2}The model is in this process\. Stop it, and run/),
        setStatus: () => {},
        toggleDebug: () => false,
      },
      settings: testSettings({ model: "gpt-oss-20b.gguf" }),
      args: [],
      environment: {},
    },
  );
  await keys["d"]?.run([]);
  expect.assertions(1);
});

test("v shows more of the log, and less again", async () => {
  const { press } = await open();
  expect(await press("v")).toBe("  Every entry of the log is shown.");
  expect(await press("v")).toBe("  The log is at info again.");
});

test("q is Ctrl+C", async () => {
  const { press } = await open();
  const interrupted = vi.fn<() => void>();
  process.once("SIGINT", interrupted);
  await press("q");
  expect(interrupted).toHaveBeenCalledOnce();
});
