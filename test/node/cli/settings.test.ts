import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SettingsError } from "../../../src/index.ts";
import { loadSettings } from "../../../src/node/index.ts";

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "harmony-gateway-"));
});

afterAll(() => rmSync(folder, { recursive: true }));

function writeConfig(text: string): string {
  const path = join(folder, "gateway.json");
  writeFileSync(path, text);
  return path;
}

function problemsOf(args: readonly string[], environment: Record<string, string> = {}) {
  try {
    loadSettings(args, environment);
  } catch (error) {
    if (error instanceof SettingsError) return error.problems;
    throw error;
  }
  return [];
}

describe("where a setting comes from", () => {
  const file = JSON.stringify({ port: 3, host: "127.0.0.3", maxTools: 3 });
  const environment = { HARMONY_GATEWAY_PORT: "2", HARMONY_GATEWAY_HOST: "127.0.0.2" };

  test("a flag wins over a variable, a variable over the file, the file over the default", () => {
    const args = ["--config", writeConfig(file), "--port", "1"];
    expect(loadSettings(args, environment).settings).toMatchObject({
      port: 1,
      host: "127.0.0.2",
      maxTools: 3,
      maxMessages: 10_000,
    });
  });

  test("a variable can name the file, a flag another one", () => {
    const named = { HARMONY_GATEWAY_CONFIG: writeConfig(file) };
    expect(loadSettings([], named).settings.port).toBe(3);
    const missing = { HARMONY_GATEWAY_CONFIG: join(folder, "missing.json") };
    expect(loadSettings(["--config", writeConfig(file)], missing).settings.port).toBe(3);
  });

  test("the same engine can be configured in all three ways", () => {
    const url = "http://host:8000";
    const model = "openai/gpt-oss-20b";
    const ways = [
      loadSettings(["--engine", "vllm", `--url=${url}`, "--model", model], {}),
      loadSettings([], {
        HARMONY_GATEWAY_ENGINE: "vllm",
        HARMONY_GATEWAY_URL: url,
        HARMONY_GATEWAY_MODEL: model,
      }),
      loadSettings(["--config", writeConfig(JSON.stringify({ engine: "vllm", url, model }))], {}),
    ];
    const [first] = ways;
    expect(first?.settings).toMatchObject({ engine: "vllm", url, model });
    expect(ways).toEqual([first, first, first]);
  });
});

describe("flags", () => {
  test.each<[string, readonly string[], object]>([
    ["a value after a space", ["--port", "1"], { port: 1 }],
    ["a value after an equals sign", ["--port=1"], { port: 1 }],
    ["a value with an equals sign in it", ["--url=http://h/?a=b"], { url: "http://h/?a=b" }],
    ["yes", ["--open"], { open: true }],
    ["no", ["--no-open"], { open: false }],
    [
      "yes and no in words",
      ["--open=false", "--log-content=yes"],
      { open: false, logContent: true },
    ],
    ["a list", ["--aliases", "a,b"], { aliases: ["a", "b"] }],
    ["a list piece by piece", ["--aliases", "a", "--aliases", "b"], { aliases: ["a", "b"] }],
    ["a list as JSON", ["--aliases", '["a,b"]'], { aliases: ["a,b"] }],
    ["a list with spaces", ["--aliases", "a, b"], { aliases: ["a", "b"] }],
    ["an empty list", ["--aliases", ""], { aliases: [] }],
    ["objects", ["--backends", '[{"engine":"demo"}]'], { backends: [{ engine: "demo" }] }],
    ["a number in groups", ["--max-body-bytes", "1_000_000"], { maxBodyBytes: 1_000_000 }],
    ["a text of digits", ["--served-name", "12"], { servedName: "12" }],
    ["0 for no", ["--open=0"], { open: false }],
    ["no in capitals", ["--open=OFF"], { open: false }],
    ["an empty value", ["--identity", ""], { identity: "" }],
    ["a value that looks like a flag", ["--identity", "--x"], { identity: "--x" }],
  ])("%s", (_, args, expected) => {
    expect(loadSettings(args, {}).settings).toMatchObject(expected);
  });

  test.each<[string, readonly string[], string]>([
    ["misspelt", ["--prot", "1"], "--prot: there is no such flag. Did you mean --port?"],
    ["unknown", ["--bananas"], "--bananas: there is no such flag."],
    ["no flag at all", ["vllm"], "vllm: is not a flag; settings begin with --."],
    ["without its value", ["--port"], "--port: expected a value after it."],
    ["given twice", ["--port", "1", "--port", "2"], "--port: is given twice."],
    ["no, for a number", ["--no-port"], "--no-port: there is no such flag. Did you mean --port?"],
    ["short", ["-port", "1"], "-port: there is no such flag. Did you mean --port?"],
    ["no, with a value", ["--no-open=1"], "--no-open: there is no such flag. Did you mean --open?"],
    ["an empty number", ["--port", ""], '--port: expected a whole number from 0 to 65535, got "".'],
    ["a word for a boolean", ["--open=perhaps"], '--open: expected true or false, got "perhaps".'],
    ["wrong", ["--port", "x"], '--port: expected a whole number from 0 to 65535, got "x".'],
  ])("%s", (_, args, problem) => {
    expect(problemsOf(args)).toEqual([problem]);
  });

  test("all mistakes are reported at once", () => {
    const args = ["vllm", "--prot", "1", "--open", "--no-open", "--hots=h", "x", "--url"];
    expect(problemsOf(args)).toEqual([
      "vllm: is not a flag; settings begin with --.",
      "--prot: there is no such flag. Did you mean --port?",
      "--no-open: is given twice.",
      "--hots: there is no such flag. Did you mean --host?",
      "x: is not a flag; settings begin with --.",
      "--url: expected a value after it.",
    ]);
  });
});

describe("variables", () => {
  test("a wrong value is named by its variable", () => {
    expect(problemsOf([], { HARMONY_GATEWAY_PORT: "x" })).toEqual([
      'HARMONY_GATEWAY_PORT: expected a whole number from 0 to 65535, got "x".',
    ]);
  });

  test("an unknown variable is only a warning: it may belong to another program", () => {
    expect(loadSettings([], { HARMONY_GATEWAY_HOTS: "x", PORT: "1" }).warnings).toEqual([
      "HARMONY_GATEWAY_HOTS: there is no such setting. Did you mean HARMONY_GATEWAY_HOST?",
    ]);
  });

  test("processes that share a port and nothing else start with a warning", () => {
    const sealed = {
      HARMONY_GATEWAY_REASONING_POLICY: "sealed",
      HARMONY_GATEWAY_SEALING_KEYS: "A".repeat(43),
    };
    const warningsOf = (...args: string[]) => loadSettings(args, sealed).warnings;
    expect(warningsOf("--reuse-port")).toEqual([
      "reusePort: stored responses, conversations and background responses are found only by the process that made them. " +
        "Clients must send store: false. A shared store, for instance --store sqlite:state.db, removes this limit.",
    ]);
    expect(warningsOf("--reuse-port", "--store", "redis://a")).toEqual([]);
    expect(warningsOf()).toEqual([]);
  });

  test("variables that Kubernetes sets for a service of our name are ignored", () => {
    const links = {
      HARMONY_GATEWAY_PORT: "tcp://10.0.0.1:8787",
      HARMONY_GATEWAY_PORT_8787_TCP: "tcp://10.0.0.1:8787",
      HARMONY_GATEWAY_PORT_8787_TCP_ADDR: "10.0.0.1",
      HARMONY_GATEWAY_SERVICE_HOST: "10.0.0.1",
      HARMONY_GATEWAY_SERVICE_PORT: "8787",
    };
    expect(loadSettings([], links)).toEqual(loadSettings([], {}));
  });
});

describe("the config file", () => {
  test("a wrong value is named with the file", () => {
    const path = writeConfig('{"port":"8787"}');
    expect(problemsOf(["--config", path])).toEqual([
      `port in ${path}: expected a whole number from 0 to 65535, got "8787".`,
    ]);
  });

  test("an unknown name is refused", () => {
    const path = writeConfig('{"prot":1,"apiKey":2}');
    expect(problemsOf(["--config", path])).toEqual([
      `prot in ${path}: there is no such setting. Did you mean port?`,
      `apiKey in ${path}: there is no such setting.`,
    ]);
  });

  test("all mistakes are reported at once, in flags, in names and in values", () => {
    const path = writeConfig(
      JSON.stringify({
        hosst: "a",
        port: "x",
        maxQueued: -1,
        backends: [{ modell: "m", urll: "u" }],
      }),
    );
    const problems = problemsOf(["--config", path, "--maxx", "1"]);
    expect(problems.slice(0, 2)).toEqual([
      "--maxx: there is no such flag.",
      `hosst in ${path}: there is no such setting. Did you mean host?`,
    ]);
    expect(problems).toEqual(
      expect.arrayContaining([
        `port in ${path}: expected a whole number from 0 to 65535, got "x".`,
        `maxQueued in ${path}: expected a whole number, 0 or more, got -1.`,
        `backends in ${path}: backends[0]: there is no modell. Did you mean model?`,
        `backends in ${path}: backends[0]: there is no urll. Did you mean url?`,
      ]),
    );
  });

  test("a key that has expired starts with a warning", () => {
    const sha256 = "0".repeat(64);
    const keys = [
      { name: "old", sha256, expires: "2020-01-31" },
      { name: "new", sha256: "1".repeat(64), expires: "2999-01-31" },
    ];
    expect(loadSettings(["--config", writeConfig(JSON.stringify({ keys }))], {}).warnings).toEqual([
      "keys: the key old has expired (2020-01-31). Give it a later expires, or remove it.",
    ]);
  });

  test("a missing file, broken JSON and anything but an object are refused", () => {
    const missing = join(folder, "missing.json");
    expect(problemsOf(["--config", missing]).join()).toMatch(
      /missing\.json: there is no such file\.$/,
    );
    expect(problemsOf(["--config", writeConfig("{")]).join()).toMatch(/is not valid JSON/);
    expect(problemsOf(["--config", writeConfig("[]")]).join()).toMatch(
      /must contain a JSON object/,
    );
  });

  const make = {
    "a FIFO": (path: string) => void execFileSync("mkfifo", [path]),
    "a link to a device that never ends": (path: string) => symlinkSync("/dev/zero", path),
    "a folder": (path: string) => mkdirSync(path),
  };
  test.skipIf(process.platform === "win32").each([
    ["a FIFO", "is not an ordinary file."],
    ["a link to a device that never ends", "is not an ordinary file."],
    ["a folder", "is a folder, not a file."],
  ] as const)("%s is refused (skipped on Windows, which has none)", (kind, reason) => {
    const path = join(folder, kind);
    make[kind](path);
    expect(problemsOf(["--config", path])).toEqual([`--config ${path}: ${reason}`]);
  });
});
