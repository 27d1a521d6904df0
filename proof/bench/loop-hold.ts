/**
 * Measures how long one request blocks the others, for the worst known bodies. `node proof/bench/loop-hold.ts [word …]` runs
 * those whose name contains one of the words; `--root DIR` uses the gateway of another checkout.
 *
 * The gateway and the engine run in separate processes. The result is the CPU time its thread spends between two
 * iterations of the event loop, minus `JSON.parse` of the body. Unlike the time of a parallel `/health` request, which
 * is printed beside it, it hardly depends on other load on the machine. Each round sends different texts, so that
 * nothing is cached, and the best round counts. The exit code is 1 if a request blocks the loop for longer than
 * allowed.
 */
import { Agent, request } from "node:http";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { setTimeout as pause } from "node:timers/promises";
import { freePort } from "../../test/helpers/listen.ts";
import { type Helper, startHelper } from "./child.ts";
import type { Held, Watch } from "./loop-watch.ts";
import { MODEL } from "./streaming/requests.ts";

const MB = 1_000_000;
/** Slightly below the largest body that is accepted. */
const LARGEST = 30 * MB;
const HEALTH_EVERY_MS = 1;
/** Warm-up requests: V8's compilation on first use is not measured. */
const WARM_UPS = 30;

const { values: options, positionals: wanted } = parseArgs({
  allowPositionals: true,
  options: { root: { type: "string", default: "." }, rounds: { type: "string", default: "3" } },
});

interface Case {
  readonly name: string;
  readonly limitMs: number;
  readonly path?: string;
  readonly body: () => object;
  /** Whether the process with a store in a file is measured, instead of the gateway's. */
  readonly isStore?: boolean;
}

const CASES: readonly Case[] = [
  chat("1 MB of letters", 50, () => letters(MB)),
  chat("1 MB of one letter", 50, () => one(MB)),
  chat("1 MB of line ends", 50, () => lineEnds(MB)),
  chat("1 MB of emoji", 50, () => emoji(MB / 4)),
  chat("1 MB of Chinese", 50, () => chinese(MB / 3)),
  chat("1 MB of base64", 50, () => base64(MB)),
  chat("1 MB of words", 50, () => words(MB)),
  chat("1 MB of punctuation", 50, () => punctuation(MB)),
  chat("30 MB of words", 200, () => words(LARGEST)),
  chat("30 MB of letters", 200, () => letters(LARGEST)),
  chat("13 MB of one letter", 200, () => one(13 * MB)),
  chat("13 MB of Chinese", 200, () => chinese((13 * MB) / 3)),
  counted("30 MB of words, counted only", 200, () => words(LARGEST)),
  counted("1 MB of letters, counted only", 50, () => letters(MB)),
  {
    name: "1 MB continued (prefill)",
    limitMs: 50,
    body: () => ({ messages: [user("Go on."), { role: "assistant", content: letters(MB) }] }),
  },
  {
    name: "1 MB of content parts",
    limitMs: 50,
    body: () => ({ messages: [user(parts(MB / 26))] }),
  },
  {
    name: "30 MB of content parts",
    limitMs: 200,
    body: () => ({ messages: [user(parts(LARGEST / 26))] }),
  },
  {
    name: "1 MB of wrong content parts",
    limitMs: 50,
    body: () => ({ messages: [user(Array.from({ length: MB / 3 }, () => ({})))] }),
  },
  {
    name: "1 MB of wrong items",
    limitMs: 50,
    path: "/v1/responses",
    body: () => ({
      model: "openai/gpt-oss-20b",
      input: Array.from({ length: 9_999 }, () => ({
        type: "message",
        role: "user",
        content: [{}, {}, {}, {}],
      })),
    }),
  },
  {
    name: "30 MB of numbers in an ignored field",
    limitMs: 200,
    body: () => ({ messages: [user("Hi")], strays: Array.from({ length: LARGEST / 2 }, () => 1) }),
  },
  {
    name: "1 MB of tool schema",
    limitMs: 50,
    body: () => ({ messages: [user("Hi")], tools: [tool(MB)] }),
  },
  {
    name: "1 MB of tool schema, strict",
    limitMs: 50,
    body: () => ({ messages: [user("Hi")], tools: [tool(MB, true)] }),
  },
  {
    name: "a reference bomb as response format",
    limitMs: 50,
    body: () => ({ messages: [user("Hi")], response_format: bomb() }),
  },
  {
    name: "9,999 bogus encrypted texts of 100 characters",
    limitMs: 50,
    path: "/v1/responses",
    body: () => ({ model: "openai/gpt-oss-20b", input: [...cipher(9_999, 100), user("Hi")] }),
  },
  {
    name: "one bogus encrypted text of 1 MB",
    limitMs: 50,
    path: "/v1/responses",
    body: () => ({ model: "openai/gpt-oss-20b", input: [...cipher(1, MB), user("Hi")] }),
  },
  {
    name: "9,999 references to nothing",
    limitMs: 50,
    path: "/v1/responses/input_tokens",
    body: () => ({
      model: "openai/gpt-oss-20b",
      input: Array.from({ length: 9_999 }, () => ({ type: "item_reference", id: "msg_0_i0" })),
    }),
  },
  {
    name: "7 MB of tool schema",
    limitMs: 200,
    body: () => ({ messages: [user("Hi")], tools: [tool(7 * MB)] }),
  },
  {
    name: "500 strict tools, 1 MB",
    limitMs: 50,
    body: () => ({ messages: [user("Hi")], tools: tools(500, MB / 500) }),
  },
  {
    name: "500 strict tools, 7 MB",
    limitMs: 200,
    body: () => ({ messages: [user("Hi")], tools: tools(500, (7 * MB) / 500) }),
  },
  {
    name: "30 MB of words in a tool's description",
    limitMs: 200,
    body: () => ({ messages: [user("Hi")], tools: [described(words(LARGEST))] }),
  },
  {
    name: "30 MB of line ends in a tool's description",
    limitMs: 200,
    body: () => ({ messages: [user("Hi")], tools: [described("\n".repeat(LARGEST / 2))] }),
  },
  {
    name: "30 MB of names in a response format",
    limitMs: 200,
    body: () => ({ messages: [user("Hi")], response_format: enumerated(LARGEST) }),
  },
  {
    name: "1 MB of names in a response format",
    limitMs: 50,
    body: () => ({ messages: [user("Hi")], response_format: enumerated(MB) }),
  },
  {
    name: "9,999 messages, 1 MB",
    limitMs: 50,
    body: () => ({ messages: Array.from({ length: 9_999 }, () => user(words(66))) }),
  },
  {
    name: "9,999 messages, 30 MB",
    limitMs: 200,
    body: () => ({ messages: Array.from({ length: 9_999 }, () => user(words(2_950))) }),
  },
  {
    name: "9,999 items, 1 MB",
    limitMs: 50,
    path: "/v1/responses",
    body: () => ({
      model: "openai/gpt-oss-20b",
      input: Array.from({ length: 9_999 }, () => user(words(66))),
    }),
  },
  {
    name: "9,999 items, 30 MB, stored in a conversation",
    limitMs: 200,
    path: "/v1/conversations",
    body: () => ({
      items: Array.from({ length: 9_999 }, () => ({ ...user(words(2_900)), type: "message" })),
    }),
  },
  {
    name: "2 messages with 19,000 calls, 2 MB",
    limitMs: 200,
    body: () => ({ messages: [user("Hi"), { role: "assistant", tool_calls: chatCalls(19_000) }] }),
  },
  {
    name: "500 KB of words, which fit the context",
    limitMs: 50,
    body: () => ({ messages: [user(words(MB / 2))], max_tokens: 1 }),
  },
  {
    name: "n = 88 of 400 KB",
    limitMs: 50,
    body: () => ({ messages: [user(words(400_000))], n: 88, max_tokens: 1 }),
  },
  {
    name: "truncation of 4,900 calls",
    limitMs: 200,
    path: "/v1/responses",
    body: () => ({
      model: "openai/gpt-oss-20b",
      truncation: "auto",
      max_output_tokens: 16,
      input: [...calls(4_900), user("Hi")],
    }),
  },
  stored("8 MB written to the store's file", "write/letters"),
  stored("8 MB read from the store's file", "read/letters"),
  stored("8 MB of Chinese written to it", "write/chinese"),
  stored("8 MB of Chinese read from it", "read/chinese"),
  stored("1,000 entries of 4 KB written to it at once", "write/many"),
  stored("1,000 entries of 4 KB read from it at once", "read/many"),
];

function stored(name: string, path: string): Case {
  return { name, limitMs: 20, path: `/${path}`, body: () => ({}), isStore: true };
}

function chat(name: string, limitMs: number, text: () => string): Case {
  return { name, limitMs, body: () => ({ messages: [user(text())], max_tokens: 1 }) };
}

function counted(name: string, limitMs: number, text: () => string): Case {
  const path = "/v1/responses/input_tokens";
  return { name, limitMs, path, body: () => ({ model: "openai/gpt-oss-20b", input: text() }) };
}

function user(content: unknown): object {
  return { role: "user", content };
}

const WORDS =
  "the quick brown fox jumps over a lazy dog and then it runs away from us ".match(/\w+ /g) ?? [];

/** The seed, equal on every machine. */
let seed = 1;
function random(below: number): number {
  seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fff_ffff;
  return (seed >>> 8) % below;
}

function letters(length: number): string {
  return write(length, () => 97 + random(26));
}

function chinese(length: number): string {
  return write(Math.floor(length), () => 0x4e00 + random(3000));
}

function base64(length: number): string {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  return write(length, () => alphabet.charCodeAt(random(64)));
}

function write(length: number, unit: (at: number) => number): string {
  const units = Uint16Array.from({ length }, (_, at) => unit(at));
  return Buffer.from(units.buffer).toString("utf16le");
}

function one(length: number): string {
  return String.fromCharCode(97 + random(26)).repeat(length);
}

function lineEnds(length: number): string {
  return write(length, (at) => (at === length >> 1 ? 97 + random(26) : 10));
}

function emoji(count: number): string {
  return Array.from({ length: count }, () => String.fromCodePoint(0x1f600 + random(80))).join("");
}

function punctuation(length: number): string {
  return write(length, () => "!?;:".charCodeAt(random(4)));
}

function words(length: number): string {
  let text = "";
  while (text.length < length) text += WORDS[random(WORDS.length)];
  return text.slice(0, length);
}

function parts(count: number): object[] {
  return Array.from({ length: Math.floor(count) }, () => ({ type: "text", text: letters(1) }));
}

function tool(bytes: number, strict = false) {
  const names = Array.from({ length: Math.floor(bytes / 28) }, (_, at) => `${letters(2)}${at}`);
  const properties = Object.fromEntries(names.map((name) => [name, { type: "string" }]));
  return {
    type: "function",
    function: { name: "f", strict, parameters: { type: "object", properties } },
  };
}

function tools(count: number, bytes: number): object[] {
  return Array.from({ length: count }, (_, at) => {
    const { function: each, ...rest } = tool(bytes, true);
    return { ...rest, function: { ...each, name: `f${at}` } };
  });
}

function described(description: string): object {
  return { type: "function", function: { name: "f", description, parameters: {} } };
}

function enumerated(bytes: number): object {
  const names = Array.from({ length: Math.min(bytes / 13, 100_000) }, () => letters(10));
  names.push(letters(bytes - names.length * 13));
  const schema = { enum: names };
  return { type: "json_schema", json_schema: { name: "names", schema } };
}

function chatCalls(count: number): object[] {
  const call = { name: "f", arguments: "{}" };
  return Array.from({ length: count }, (_, at) => ({
    id: `c${at}`,
    type: "function",
    function: call,
  }));
}

function bomb(): object {
  const $defs = Object.fromEntries(
    Array.from({ length: 26 }, (_, at) => {
      const $ref = `#/$defs/d${at + 1}`;
      return [`d${at}`, at === 25 ? {} : { allOf: [{ $ref }, { $ref }] }];
    }),
  );
  return {
    type: "json_schema",
    json_schema: { name: "bomb", schema: { $defs, $ref: "#/$defs/d0" } },
  };
}

function cipher(count: number, length: number): object[] {
  const encrypted_content = base64(length);
  return Array.from({ length: count }, () => ({
    type: "reasoning",
    summary: [],
    encrypted_content,
  }));
}

function calls(count: number): object[] {
  return Array.from({ length: count }, (_, at) => [
    { type: "function_call", call_id: `c${at}`, name: "f", arguments: '{"path":"src/index.ts"}' },
    { type: "function_call_output", call_id: `c${at}`, output: words(400) },
  ]).flat();
}

const engine = await startHelper(new URL("./streaming/upstream.ts", import.meta.url), {
  greets: true,
});
const port = await freePort();
const origin = `http://127.0.0.1:${port}`;
const gateway = await serveGateway();
const storePort = await freePort();
const storeOrigin = `http://127.0.0.1:${storePort}`;
const store = await startHelper(new URL("./store-process.ts", import.meta.url), {
  args: [String(storePort)],
  nodeFlags: watchFlags(),
  greets: true,
});
const rows: Record<string, string | number>[] = [];
let exceeded = 0;
try {
  for (let round = 0; round < WARM_UPS; round++) await warmUp();
  await warmUpStore();
  for (const each of CASES) {
    if (wanted.length > 0 && !wanted.some((word) => each.name.includes(word))) continue;
    const row = await measure(each);
    if (row.isOver) exceeded++;
    rows.push(row.shown);
  }
} finally {
  await Promise.all([gateway.stop(), store.stop(), engine.stop()]);
}
console.table(rows);
if (exceeded > 0) {
  console.log(`${exceeded} of ${rows.length} hold the event loop for longer than allowed.`);
  process.exitCode = 1;
}

function serveGateway(): Promise<Helper> {
  const entry = new URL("src/node.ts", pathToFileURL(`${options.root}/`));
  return startHelper(entry, {
    args: [
      "--engine=vllm",
      `--url=http://127.0.0.1:${engine.greeting}`,
      `--model=${MODEL}`,
      `--port=${port}`,
      "--log=error",
    ],
    nodeFlags: watchFlags(),
    greets: true,
  });
}

function watchFlags(): string[] {
  return [
    ...(process.env["BENCH_NODE_FLAGS"]?.split(" ") ?? []),
    `--import=${new URL("./loop-watch.ts", import.meta.url).href}`,
  ];
}

/** Writes everything once, so that there is something to read. */
async function warmUpStore(): Promise<void> {
  const paths = CASES.flatMap(({ isStore, path }) => (isStore && path !== undefined ? [path] : []));
  for (let attempt = 0; attempt < 400; attempt++) {
    try {
      for (const path of paths) await ask(storeOrigin, path, "{}");
      return;
    } catch {
      // Not listening yet.
    }
    await pause(50);
  }
  throw new Error(`nothing answers at ${storeOrigin}`);
}

async function warmUp(): Promise<void> {
  for (let attempt = 0; attempt < 400; attempt++) {
    try {
      const messages = [user(letters(1000)), user(parts(50)), user(words(1000))];
      const status = await ask(
        origin,
        "/v1/chat/completions",
        JSON.stringify({ messages, tools: [tool(1000, true)], max_tokens: 4 }),
      );
      if (status === 200) return;
    } catch {
      // Not listening yet.
    }
    await pause(50);
  }
  throw new Error(`nothing answers at ${origin}`);
}

async function measure({
  name,
  limitMs,
  path = "/v1/chat/completions",
  body,
  isStore = false,
}: Case) {
  const [watched, at] = isStore ? [store, storeOrigin] : [gateway, origin];
  const rounds: Held[] = [];
  const healths: number[] = [];
  let answer = { status: 0, ms: 0 };
  for (let round = 0; round < Number(options.rounds); round++) {
    const text = JSON.stringify(body());
    await watched.ask({ bodyLength: text.length } satisfies Watch);
    const health = watchHealth(at);
    answer = await send(at, path, text);
    healths.push(await health.end());
    rounds.push(await watched.ask("end"));
  }
  const held = rounds.map(({ longestMs }) => longestMs);
  const best = Math.min(...held);
  return {
    isOver: best > limitMs,
    shown: {
      request: name,
      "held, ms": Math.round(best),
      "worst round": Math.round(Math.max(...held)),
      allowed: limitMs,
      "": best > limitMs ? "over" : "ok",
      "JSON.parse, ms": Math.round(Math.min(...rounds.map(({ parseMs }) => parseMs))),
      "longest /health, ms": Math.round(Math.min(...healths)),
      status: answer.status,
      "answered in ms": Math.round(answer.ms),
    },
  };
}

/** Sends requests on its own connection in a loop. */
function watchHealth(at: string): { end(): Promise<number> } {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const watching = { isOver: false };
  let longest = 0;
  const asking = (async () => {
    while (!watching.isOver) {
      const begun = performance.now();
      await ask(at, "/health", undefined, agent);
      longest = Math.max(longest, performance.now() - begun);
      await pause(HEALTH_EVERY_MS);
    }
    agent.destroy();
  })();
  return {
    async end() {
      watching.isOver = true;
      await asking;
      return longest;
    },
  };
}

async function send(
  at: string,
  path: string,
  body: string,
): Promise<{ status: number; ms: number }> {
  const begun = performance.now();
  const status = await ask(at, path, body);
  return { status, ms: performance.now() - begun };
}

function ask(at: string, path: string, body?: string, agent?: Agent): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = request(
      `${at}${path}`,
      {
        method: body === undefined ? "GET" : "POST",
        headers: { "content-type": "application/json" },
        ...(agent && { agent }),
      },
      (response) => {
        response.resume();
        response.once("end", () => resolve(response.statusCode ?? 0));
      },
    );
    asked.once("error", reject);
    asked.end(body);
  });
}
