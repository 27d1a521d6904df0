import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { runCommand } from "../../../helpers/command-io.ts";
import { gatewayCommand } from "../../../helpers/gateway-command.ts";
import { startTestGateway, type TestGateway } from "../../../helpers/gateway.ts";

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.close());

const home = mkdtempSync(join(tmpdir(), "connect-"));
afterAll(() => rmSync(home, { recursive: true }));

const connect = (args: string, environment: Record<string, string> = {}) =>
  runCommand(["connect", ...args.split(" "), "--gateway", gateway.origin], { environment, home });

const { printed: usage } = await runCommand(["connect", "--help"]);
const CLIENTS = Array.from(usage.matchAll(/^ {2}([a-z][a-z-]*) {2,}\S/gm), ([, name = ""]) => name);

test("the usage lists the clients", () => {
  expect(CLIENTS).toEqual(expect.arrayContaining(["codex", "open-webui", "python"]));
});

test.each(CLIENTS)("%s gets the address and the model of the running gateway", async (name) => {
  const { code, printed } = await connect(name);
  expect(code).toBe(0);
  expect(printed).toContain(gateway.origin);
  // Open WebUI reads the list of models itself.
  expect(printed.includes("openai/gpt-oss-20b")).toBe(name !== "open-webui");
});

test.each([
  ["codex", "CODEX_HOME", ".codex"],
  ["claude-code", "CLAUDE_CONFIG_DIR", ".claude"],
  ["opencode", "XDG_CONFIG_HOME", ".config"],
])("%s is not written to where %s moves its folder", async (name, variable, folder) => {
  const moved = { [variable]: "/elsewhere" };
  expect((await connect(`${name} --write`, moved)).errors).toContain(
    `reads /elsewhere in place of ~/${folder}, because ${variable} is set. Nothing was written. Leave out --write, and copy what is printed.`,
  );
  expect((await connect(name, moved)).code).toBe(0);
});

test("a written client gets the variable of its key, each time", async () => {
  const written = "codex --write --key secret";
  const variable =
    "\n\nThe files do not contain the key. Set this variable before you start Codex:\n\nexport HARMONY_GATEWAY_KEY=secret";
  expect((await connect(written)).printed).toContain(`connect codex --undo${variable}`);
  expect((await connect(written)).printed).toContain(`has these settings already.${variable}`);
  expect((await connect("codex --write")).printed).not.toContain("export");
  await connect("codex --undo");
});

test("the SDK's lines for TypeScript run as they are printed", async () => {
  const { printed } = await connect("typescript");
  const file = join(import.meta.dirname, `connected-${process.pid}.mts`);
  writeFileSync(file, printed.replace("console.log(", "export default ("));
  onTestFinished(() => rmSync(file));
  const module: { default: unknown } = await import(file);
  expect(module.default).toContain("demo engine");
});

/** A program of this name that writes its arguments and variables to a file, and ends with code 3. */
function fakeProgram(name: string): { readonly folder: string; read(): string[] } {
  const folder = join(home, `bin-${name}`);
  mkdirSync(folder);
  const seen = join(folder, "seen");
  const program = join(folder, name);
  const variables = "ANTHROPIC_|OPENCODE_|HARMONY_";
  writeFileSync(
    program,
    `#!/bin/sh\n{ for each in "$@"; do echo "$each"; done; env | grep -E '^(${variables})' | sort; } > "${seen}"\nexit 3\n`,
  );
  chmodSync(program, 0o755);
  return { folder, read: () => readFileSync(seen, "utf8").trimEnd().split("\n") };
}

async function start(client: string, program: string, ...args: string[]) {
  const fake = fakeProgram(program);
  const environment = {
    PATH: `${fake.folder}:/usr/bin:/bin`,
    HARMONY_GATEWAY_KEY: "secret",
  };
  const command = ["connect", client, "--gateway", `${gateway.origin}/v1/`, "--", ...args];
  expect(await runCommand(command, { environment, home })).toEqual({
    printed: "",
    errors: "",
    code: 3,
  });
  return fake.read();
}

test("Claude Code is started with variables, and with the arguments behind --", async () => {
  const seen = await start("claude", "claude", "-p", "Say hi");
  expect(seen.slice(0, 2)).toEqual(["-p", "Say hi"]);
  expect(seen).toContain(`ANTHROPIC_BASE_URL=${gateway.origin}`);
  expect(seen).toContain("ANTHROPIC_AUTH_TOKEN=secret");
});

test("Codex is started with its settings as arguments before the user's", async () => {
  const seen = await start("codex", "codex", "exec", "Say hi");
  expect(seen).toEqual([
    "-c",
    'model="openai/gpt-oss-20b"',
    "-c",
    'model_provider="harmony-gateway"',
    "-c",
    'model_providers.harmony-gateway.name="harmony-gateway"',
    "-c",
    `model_providers.harmony-gateway.base_url="${gateway.baseURL}"`,
    "-c",
    'model_providers.harmony-gateway.wire_api="responses"',
    "-c",
    'model_providers.harmony-gateway.env_key="HARMONY_GATEWAY_KEY"',
    "-c",
    expect.stringMatching(/^model_catalog_json="/),
    "exec",
    "Say hi",
    "HARMONY_GATEWAY_KEY=secret",
  ]);
  // The catalogue is removed after Codex has run.
  const catalogue: unknown = JSON.parse(seen[13]?.replace("model_catalog_json=", "") ?? "");
  expect(existsSync(String(catalogue))).toBe(false);
});

test("opencode is started with its configuration in a variable", async () => {
  const seen = await start("opencode", "opencode", "run", "Say hi");
  expect(seen.slice(0, 2)).toEqual(["run", "Say hi"]);
  const line = seen.find((each) => each.startsWith("OPENCODE_CONFIG_CONTENT=")) ?? "";
  expect(JSON.parse(line.slice(line.indexOf("{")))).toMatchObject({
    model: "gateway/openai/gpt-oss-20b",
    provider: { gateway: { options: { baseURL: gateway.baseURL, apiKey: "secret" } } },
  });
});

test.each([
  ["SIGINT is left to the client", "kill -INT $PPID; exit 3", 3],
  ["SIGTERM is passed on", "trap 'exit 4' TERM; kill -TERM $PPID; sleep 9 & wait", 4],
])("%s, and the command ends after it", async (_, lines, expected) => {
  const { script, env } = await gatewayCommand();
  const folder = mkdtempSync(join(home, "bin-"));
  writeFileSync(join(folder, "claude"), `#!/bin/sh\n${lines}\n`, { mode: 0o755 });
  const child = spawn(
    process.execPath,
    [script, "connect", "claude", "--gateway", gateway.origin, "--"],
    { stdio: "ignore", env: { ...env, PATH: `${folder}:/usr/bin:/bin` } },
  );
  expect(await once(child, "exit")).toEqual([expected, null]);
});

test.each([
  ["codex --", "Codex is not installed: there is no program codex in the path."],
  [
    "python --",
    "OpenAI's SDK for Python is not started from here. Leave out --, and copy what is printed.",
  ],
  [
    "python --write",
    "OpenAI's SDK for Python has no settings file. Leave out --write, and copy what is printed.",
  ],
  ["codex --write --undo", "connect: use one of --write, --undo and --."],
  ["codex --undo", "There is nothing to undo: --write has not changed a file of Codex."],
  [
    "constructor",
    "connect: there is no client constructor. Clients: codex, claude-code, opencode, continue, qwen-code, vscode, open-webui, python, typescript, anthropic.",
  ],
])("connect %s explains the next step", async (args, message) => {
  const [client = "", ...rest] = args.split(" ");
  const io = { environment: { PATH: join(home, "empty") }, home };
  const command = ["connect", client, "--gateway", gateway.origin, ...rest];
  expect(await runCommand(command, io)).toEqual({ printed: "", errors: message, code: 2 });
});
