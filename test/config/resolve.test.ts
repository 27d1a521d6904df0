import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import {
  createGateway,
  ENGINE_KINDS,
  type GatewayOptions,
  resolveSettings,
  type SettingInput,
  SettingsError,
  settingsSchema,
} from "../../src/index.ts";
import { DEFAULT_STEERING } from "../../src/turn/steering/settings.ts";
import { runCommand } from "../helpers/command-io.ts";

const HASH = "0123456789abcdef".repeat(4);
const SEALING_KEY = "A".repeat(43);

/** Values as they come from flags. */
function given(values: Record<string, unknown>): SettingInput[] {
  return Object.entries(values).map(([name, value]) => ({
    name: settingsSchema.unwrap().keyof().parse(name),
    value,
    source: `--${name}`,
  }));
}

function problemsOf(values: Record<string, unknown>, deployment = { public: false }) {
  try {
    resolveSettings(given(values), deployment);
  } catch (error) {
    if (error instanceof SettingsError) return error.problems;
    throw error;
  }
  return [];
}

test("without anything given, the defaults serve the demo engine to this machine", () => {
  const settings = resolveSettings([], { public: false });
  expect(settings).toMatchObject({ host: "127.0.0.1", port: 8787, engine: "demo", keys: [] });
});

test("the schema is built once", () => {
  expect(settingsSchema.unwrap()).toBe(settingsSchema.unwrap());
});

test.each<Record<string, unknown>>([
  {},
  { port: 1, host: undefined, keys: [`alice:${HASH}`], backends: [{ engine: "demo" }] },
  { mcpServers: { docs: { url: "https://mcp.example" } }, aliases: ["a"], inspect: true },
])("%j becomes the settings of the schema, in its order", (values) => {
  const settings = resolveSettings(given(values), { public: false });
  expect(JSON.stringify(settings)).toBe(JSON.stringify(settingsSchema.parse(values)));
});

test("the steering defaults equal those of the turn", () => {
  expect(resolveSettings([], { public: false })).toMatchObject(DEFAULT_STEERING);
});

test("the first of several values wins", () => {
  const values = [...given({ port: 1 }), ...given({ port: 2, host: "localhost" })];
  expect(resolveSettings(values, { public: false })).toMatchObject({ port: 1, host: "localhost" });
});

describe("a wrong value is named with its source and the expected form", () => {
  test.each<[string, Record<string, unknown>, string]>([
    [
      "a number with letters",
      { port: "abc" },
      '--port: expected a whole number from 0 to 65535, got "abc".',
    ],
    [
      "a number out of range",
      { port: 70_000 },
      "--port: expected a whole number from 0 to 65535, got 70000.",
    ],
    ["a fraction", { maxTools: 1.5 }, "--maxTools: expected a whole number, 1 or more, got 1.5."],
    ["a word for a boolean", { open: "maybe" }, '--open: expected true or false, got "maybe".'],
    [
      "an unknown choice",
      { log: "loud" },
      '--log: expected one of silent, error, warn, info, debug, got "loud".',
    ],
    [
      "a URL without a scheme",
      { engine: "vllm", url: "host:8000" },
      '--url: expected a URL that begins with http:// or https://, got "host:8000".',
    ],
    [
      "a public address with a query",
      { publicUrl: "https://llm.example.com/team?a=1" },
      '--publicUrl: expected a URL that begins with http:// or https:// and has neither ? nor #, got "https://llm.example.com/team?a=1".',
    ],
    [
      "a public address with a fragment",
      { publicUrl: "https://llm.example.com/#chat" },
      '--publicUrl: expected a URL that begins with http:// or https:// and has neither ? nor #, got "https://llm.example.com/#chat".',
    ],
    [
      "a day that is none",
      { date: "2026-02-30" },
      '--date: expected today, none or a day such as 2026-01-31, got "2026-02-30".',
    ],
    [
      "another store",
      { store: "mysql://x" },
      "--store: expected memory, sqlite:PATH, redis://HOST, postgres://HOST/DATABASE, d1:BINDING or kv:BINDING.",
    ],
    [
      "a key that is no hash",
      { keys: ["alice:secret"] },
      "--keys: keys[0].sha256: expected a SHA-256 hash in 64 hex digits.",
    ],
    [
      "a name of a key that would not fit a log",
      { keys: [`a b:${"0".repeat(64)}`] },
      "--keys: keys[0].name: expected up to 64 letters, digits, dots, dashes, _ or @.",
    ],
    [
      "a token of the inspector that could be guessed",
      { inspectKey: "short" },
      "--inspectKey: expected at least 16 characters.",
    ],
    [
      "a backend's name that would not fit a label",
      { backends: [{ engine: "demo", name: "a b" }] },
      "--backends: backends[0].name: expected up to 64 letters, digits, dots, dashes or _.",
    ],
    [
      "a misspelt member of a backend",
      { backends: [{ engine: "demo", modle: "x" }] },
      "--backends: backends[0]: there is no modle. Did you mean model?",
    ],
    [
      "MCP servers that are no object",
      { mcpServers: "{oops" },
      "--mcpServers: expected an object of MCP servers by label.",
    ],
    [
      "names for Claude's that are no list",
      { claudeAliases: 5 },
      "--claudeAliases: expected a list, got 5.",
    ],
    [
      "a name for Claude's with two patterns",
      { claudeAliases: ["a=b=c"] },
      "--claudeAliases: claudeAliases[0]: expected a served model, after `pattern=` or alone.",
    ],
    [
      "a misspelt member of an MCP server",
      { mcpServers: { docs: { url: "https://a.example/", header: {} } } },
      "--mcpServers: mcpServers.docs: there is no header. Did you mean headers?",
    ],
    [
      "an MCP server that is neither an address nor a program",
      { mcpServers: { docs: {} } },
      "--mcpServers: mcpServers.docs: expected either url or command.",
    ],
    [
      "tools of an MCP server that are no list",
      { mcpServers: { docs: { command: "x", allowedTools: "read" } } },
      "--mcpServers: mcpServers.docs.allowedTools: expected a list of names, or an object with toolNames or readOnly.",
    ],
    [
      "approvals of an MCP server by another word",
      { mcpServers: { docs: { command: "x", requireApproval: "ask" } } },
      "--mcpServers: mcpServers.docs.requireApproval: expected always, never, or an object with always or never.",
    ],
    [
      "an MCP server with a name of the model's own",
      { mcpServers: { browser: { command: "x" } } },
      "--mcpServers: mcpServers.browser: expected up to 64 letters, digits, dashes or _, and no name of the model's own tools and roles.",
    ],
    [
      "a misspelt field of a preset",
      { presets: { review: { model: "gpt-oss-20b", temprature: 1 } } },
      "--presets: presets.review: there is no temprature. Did you mean temperature?",
    ],
    ["a key without its hash", { keys: [{ name: "a" }] }, "--keys: keys[0].sha256: is missing."],
    [
      "models of a key that are no list",
      { keys: [{ name: "a", sha256: HASH, models: 5 }] },
      "--keys: keys[0].models: expected a list.",
    ],
    [
      "a key that may use no model",
      { keys: [{ name: "a", sha256: HASH, models: [] }] },
      "--keys: keys[0].models: expected a length of 1 or more.",
    ],
    [
      "a limit of a key that is too low",
      { keys: [{ name: "a", sha256: HASH, maxQueuedPerKey: -1 }] },
      "--keys: keys[0].maxQueuedPerKey: expected 0 or more.",
    ],
    [
      "a misspelt policy of a key",
      { keys: [{ name: "a", sha256: HASH, reasoningPolicy: "sealled" }] },
      '--keys: keys[0].reasoningPolicy: expected one of raw, sealed, summary, none, got "sealled". Did you mean sealed?',
    ],
    [
      "a misspelt tool",
      { builtinTools: ["browser", "pythn"] },
      '--builtinTools: builtinTools[1]: expected one of browser, python, got "pythn". Did you mean python?',
    ],
    [
      "a misspelt engine",
      { engine: "vlm" },
      `--engine: expected one of ${ENGINE_KINDS.join(", ")}, auto, got "vlm". Did you mean vllm?`,
    ],
    [
      "a misspelt effort of a preset, whose values are not repeated",
      { presets: { review: { model: "gpt-oss-20b", effort: "hihg" } } },
      "--presets: presets.review.effort: expected one of none, low, medium, high. Did you mean high?",
    ],
    [
      "a penalty of nothing",
      { presets: { review: { model: "gpt-oss-20b", repetitionPenalty: 0 } } },
      "--presets: presets.review.repetitionPenalty: expected more than 0.",
    ],
    [
      "a key whose end is no date",
      { keys: [{ name: "a", sha256: HASH, expires: "31.12.2026" }] },
      "--keys: keys[0].expires: expected a date such as 2026-12-31, or a time with its zone such as 2026-12-31T18:00:00Z.",
    ],
    [
      "a key whose end has no zone",
      { keys: [{ name: "a", sha256: HASH, expires: "2026-12-31T18:00:00" }] },
      "--keys: keys[0].expires: expected a date such as 2026-12-31, or a time with its zone such as 2026-12-31T18:00:00Z.",
    ],
    [
      "a lock of a field without a value of its own",
      { presets: { review: { model: "gpt-oss-20b", lock: ["instructions"] } } },
      "--presets: presets.review.lock[0]: expected one of effort, temperature, topP, topK, minP, frequencyPenalty, presencePenalty, repetitionPenalty, maxOutputTokens.",
    ],
    [
      "a preset whose name is OpenRouter's form of one",
      { presets: { "@preset/review": { model: "gpt-oss-20b" } } },
      "--presets: presets.@preset/review: expected up to 128 letters, digits, dots, dashes, slashes, colons or _ as its name.",
    ],
    [
      "too many presets",
      {
        presets: Object.fromEntries(
          Array.from({ length: 257 }, (_, index) => [`p${index}`, { model: "gpt-oss-20b" }]),
        ),
      },
      "--presets: expected an object of up to 256 presets, by name.",
    ],
    [
      "instructions of a preset that are too long",
      { presets: { review: { model: "gpt-oss-20b", instructions: "a".repeat(100_001) } } },
      "--presets: presets.review.instructions: expected a length of 100000 or less.",
    ],
    [
      "Python by an MCP server without its address",
      { builtinTools: ["python"], pythonRuntime: "mcp" },
      "pythonRuntime mcp: needs pythonUrl, the address of the sandbox.",
    ],
    [
      "tools of a preset that are not enabled",
      { presets: { helped: { model: "gpt-oss-20b", builtinTools: ["browser"] } } },
      "presets.helped.builtinTools: browser is not among builtinTools. Add it there as well.",
    ],
    [
      "a vision model without its name",
      { visionUrl: "http://127.0.0.1:8081" },
      "visionUrl: needs visionModel, the name of the model there.",
    ],
    [
      "hosts of images without a model that describes them",
      { mediaHosts: ["any"] },
      "mediaHosts: has no effect without visionUrl.",
    ],
  ])("%s", (_, values, problem) => {
    expect(problemsOf(values)).toEqual([problem]);
  });

  test("several at once", () => {
    expect(problemsOf({ port: "abc", open: "maybe" })).toHaveLength(2);
  });

  test("a secret value is not repeated", () => {
    expect(problemsOf({ sealingKeys: ["hunter2"] }).join()).not.toContain("hunter2");
    expect(problemsOf({ engineKey: 12345 }).join()).not.toContain("12345");
  });
});

const NOT_SHARED =
  "reusePort: with the store memory, a process does not find what another one has stored. Share a store, for instance " +
  "--store sqlite:state.db, or set reasoningPolicy to sealed and have clients send store: false.";

describe("settings that contradict each other", () => {
  test.each<[string, Record<string, unknown>, string]>([
    [
      "listening to others without keys",
      { host: "0.0.0.0" },
      "host 0.0.0.0: other machines could use the gateway without a key. Create a key with `harmony-gateway key`, or set --open to allow it.",
    ],
    [
      "sealing without a key to seal with",
      { reasoningPolicy: "sealed" },
      "reasoningPolicy sealed: requires sealingKeys. Create one with `harmony-gateway key --sealing`.",
    ],
    [
      "sealing for one key without a key to seal with",
      { keys: [{ name: "a", sha256: HASH, reasoningPolicy: "sealed" }] },
      "reasoningPolicy sealed: requires sealingKeys. Create one with `harmony-gateway key --sealing`.",
    ],
    [
      "a single engine beside a list",
      { backends: [{ engine: "demo" }], model: "x" },
      "--model: has no effect together with backends. Set it in the entries of that list.",
    ],
    [
      "an engine without an address, and without a usual one",
      { engine: "completions" },
      "engine completions: needs the server's url, for instance --url http://127.0.0.1:8000.",
    ],
    [
      "the address of a server that the demo would hide",
      { engine: "demo", url: "http://gpu:8000" },
      "--url: has no effect with engine demo. Leave out engine, or name the server's kind.",
    ],
    [
      "the address of a server that llama would hide, in a list",
      { backends: [{ engine: "llama", url: "http://gpu:8000", model: "a.gguf" }] },
      "backends: url has no effect with engine llama. Leave out engine, or name the server's kind.",
    ],
    [
      "two backends of one model and one name",
      {
        backends: [
          { engine: "demo", name: "a" },
          { engine: "demo", name: "a" },
        ],
      },
      "backends: openai/gpt-oss-20b from a is served twice. Give each backend a unique name.",
    ],
    [
      "two keys of one name",
      { keys: [`a:${HASH}`, `a:${HASH}`] },
      "keys: the name a is given twice.",
    ],
    [
      "two keys of one hash",
      { keys: [`a:${HASH}`, `b:${HASH}`] },
      "keys: a and b have the same hash, so they are the same key. Create a separate key for each.",
    ],
    [
      "a preset of a model that is not served",
      { presets: { review: { model: "gpt-oss-120b" } } },
      "presets.review.model: gpt-oss-120b is not served. Did you mean gpt-oss-20b?",
    ],
    [
      "a preset of a preset",
      { presets: { review: { model: "gpt-oss-20b" }, other: { model: "review" } } },
      "presets.other.model: review is a preset. Name the model that answers.",
    ],
    [
      "a preset with the name of a model",
      { presets: { "gpt-oss-20b": { model: "gpt-oss-20b" } } },
      "presets.gpt-oss-20b: a model or another preset has this name already.",
    ],
    [
      "two presets whose names differ by openai/ only",
      { presets: { review: { model: "gpt-oss-20b" }, "openai/review": { model: "gpt-oss-20b" } } },
      "presets.openai/review: a model or another preset has this name already.",
    ],
    [
      "a lock without a value",
      { presets: { review: { model: "gpt-oss-20b", lock: ["effort"] } } },
      "presets.review.lock: effort has no value to be locked. Set presets.review.effort.",
    ],
    [
      "a key that may use a model that does not exist",
      { keys: [{ name: "a", sha256: HASH, models: ["gpt-oss-20"] }] },
      "keys: a may use gpt-oss-20, which is neither a model nor a preset. Did you mean gpt-oss-20b?",
    ],
    [
      "a name of Claude for a model that does not exist",
      { claudeAliases: ["claude-haiku-*=gpt-oss-20", "gpt-oss-20b:low", "@preset/gpt-oss-20b"] },
      "claudeAliases: a name stands for gpt-oss-20, which is neither a model nor a preset. Did you mean gpt-oss-20b?",
    ],
    ["processes that share a port, and not the store", { reusePort: true }, NOT_SHARED],
    [
      "processes that share a port, and a key that has its reasoning in the store",
      {
        reusePort: true,
        reasoningPolicy: "sealed",
        sealingKeys: [SEALING_KEY],
        keys: [{ name: "a", sha256: HASH, reasoningPolicy: "none" }],
      },
      NOT_SHARED,
    ],
    [
      "processes that share any free port",
      { reusePort: true, port: 0, store: "redis://a" },
      "reusePort: with port 0 each process would listen on a port of its own. Choose a port.",
    ],
    [
      "metrics on the port of everything else",
      { port: 8080, metricsPort: 8080 },
      "metricsPort 8080: is the same as port. Choose another one.",
    ],
  ])("%s", (_, values, problem) => {
    expect(problemsOf(values)).toEqual([problem]);
  });

  test.each<[string, Record<string, unknown>]>([
    ["keys make it safe to listen to others", { host: "0.0.0.0", keys: [`a:${HASH}`] }],
    ["open permits it", { host: "0.0.0.0", open: true }],
    ["loopback needs neither", { host: "::1" }],
    ["sealing with a key", { reasoningPolicy: "sealed", sealingKeys: [SEALING_KEY] }],
    ["a shared port and a shared store", { reusePort: true, store: "redis://a" }],
    [
      "a shared port and reasoning that clients carry",
      { reusePort: true, reasoningPolicy: "sealed", sealingKeys: [SEALING_KEY] },
    ],
    ["two ports that are any free ones", { port: 0, metricsPort: 0 }],
    [
      "a key of a preset whose name ends like a suffix",
      {
        presets: { "gpt-oss-20b:high": { model: "openai/gpt-oss-20b", effort: "high" } },
        keys: [{ name: "a", sha256: HASH, models: ["gpt-oss-20b:high"] }],
      },
    ],
  ])("%s", (_, values) => {
    expect(problemsOf(values)).toEqual([]);
  });

  test("on a public platform, only the demo engine is served without keys", () => {
    const engine = { engine: "vllm", url: "http://engine:8000" };
    expect(problemsOf({}, { public: true })).toEqual([]);
    expect(problemsOf({ ...engine, open: true }, { public: true })).toEqual([]);
    expect(problemsOf(engine, { public: true })).toEqual([
      "keys: anyone could use the gateway without a key. Create one with `harmony-gateway key`, or set open to allow it.",
    ]);
  });
});

const served = z.object({
  models: z.array(
    z.object({
      id: z.string(),
      backends: z.array(z.object({ id: z.string(), engine: z.string() })),
    }),
  ),
});

/** The models of a gateway, each with the names and kinds of its backends. */
async function servedBy(options: GatewayOptions) {
  const gateway = createGateway({ log: "silent", ...options });
  const response = await gateway.fetch(new Request("http://127.0.0.1/ready"));
  return served
    .parse(await response.json())
    .models.map(({ id, backends }) => [id, ...backends.map((each) => `${each.id} ${each.engine}`)]);
}

test("without an engine, the demo serves the smaller model", async () => {
  expect(await servedBy({})).toEqual([["openai/gpt-oss-20b", "demo demo"]]);
});

test("several backends each have their own settings", async () => {
  const backends: GatewayOptions["backends"] = [
    { engine: "vllm", url: "http://a:8000", model: "gpt-oss-120b", servedName: "big" },
    { engine: "demo", aliases: ["toy"] },
  ];
  expect(await servedBy({ backends })).toEqual([
    ["big", "vllm vllm"],
    ["openai/gpt-oss-20b", "demo demo"],
  ]);
  const presets = { short: { model: "toy" } };
  expect(problemsOf({ backends, presets })).toEqual([]);
});

test("backends of one model are distinguished by their names, which are optional", async () => {
  const backends: GatewayOptions["backends"] = [
    { engine: "demo" },
    { engine: "demo" },
    { engine: "demo", name: "spare" },
    { engine: "demo", servedName: "other" },
    { engine: "vllm" },
  ];
  expect(await servedBy({ backends })).toEqual([
    ["openai/gpt-oss-20b", "demo demo", "demo-2 demo", "spare demo", "vllm vllm"],
    ["other", "demo demo"],
  ]);
});

test("a key may be a short string or an object", () => {
  const long = { name: "b", sha256: "f".repeat(64), reasoningPolicy: "none" };
  const settings = resolveSettings(given({ keys: [`a:${HASH}`, long] }), { public: false });
  expect(settings.keys).toEqual([{ name: "a", sha256: HASH }, long]);
});

/** The settings as the command `config` prints them; at the start, the log has the same. */
async function printed(values: Record<string, unknown>) {
  const file = join(mkdtempSync(join(tmpdir(), "settings-")), "gateway.json");
  writeFileSync(file, JSON.stringify(values));
  const { printed: text, errors } = await runCommand(["config", "--config", file]);
  expect(errors).toBe("");
  return z.record(z.string(), z.unknown()).parse(JSON.parse(text));
}

test("the printed settings contain no secrets", async () => {
  const secrets = {
    engineKey: "SECRET-1",
    sealingKeys: ["SECRET-2".padEnd(43, "A")],
    store: "redis://user:SECRET-3@cache:6379",
    url: "http://user:SECRET-6@engine:8000/v1",
    visionUrl: "http://user:SECRET-12@vision:8000",
    visionModel: "sees",
    browserSearchUrl: "http://user:SECRET-13@search:8080",
    pythonUrl: "http://user:SECRET-14@python:8080",
    keys: [`alice:${HASH}`],
  };
  const shown = await printed(secrets);
  expect(shown).toMatchObject({
    engineKey: "(hidden)",
    sealingKeys: "(hidden)",
    store: "redis://(hidden)@cache:6379",
    url: "http://(hidden)@engine:8000/v1",
    visionUrl: "http://(hidden)@vision:8000",
    keys: ["alice"],
  });
  const backends = [
    {
      engine: "vllm",
      url: "http://user:SECRET-7@engine:8000",
      engineKey: "SECRET-4",
      headers: { "x-key": "SECRET-5" },
    },
  ];
  const mcpServers = {
    docs: { url: "https://mcp.example/?key=SECRET-8", headers: { "x-key": "SECRET-9" } },
    program: { command: "npx", args: ["--key", "SECRET-10"], env: { KEY: "SECRET-11" } },
  };
  const listed = await printed({ backends, mcpServers });
  expect(listed["mcpServers"]).toEqual({
    docs: { url: "https://mcp.example", headers: "(hidden)" },
    program: { command: "npx", args: "(hidden)", env: "(hidden)" },
  });
  expect(JSON.stringify([shown, listed])).not.toMatch(new RegExp(`SECRET|${HASH}`));
});

test.each([
  ["127.0.0.1", true],
  ["127.1.2.3", true],
  ["localhost", true],
  ["::1", true],
  ["0.0.0.0", false],
  ["::", false],
  ["192.168.1.2", false],
  ["127.evil.example", false],
])("%s is loopback: %s", (host, expected) => {
  expect(problemsOf({ host }).length === 0).toBe(expected);
});

describe("times longer than a timer can wait", () => {
  const times = Object.keys(settingsSchema.unwrap().shape).filter((name) => name.endsWith("Ms"));

  test("the schema has settings in milliseconds", () => {
    expect(times).toEqual(
      expect.arrayContaining(["keepAliveMs", "connectTimeoutMs", "shutdownGraceMs"]),
    );
  });

  test.each(times)("%s is refused by name", (name) => {
    expect(problemsOf({ [name]: 2_147_483_647 })).toEqual([]);
    expect(problemsOf({ [name]: 2_147_483_648 })).toEqual([
      expect.stringMatching(
        new RegExp(`^--${name}: expected a whole number from \\d to 2147483647`),
      ),
    ]);
  });
});
