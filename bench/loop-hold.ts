/**
 * How long one request holds up the others: the longest wait of a `/health` asked all the while, for the worst bodies we
 * know. `node bench/loop-hold.ts [name …]`, with `--root DIR` for the gateway of another checkout.
 *
 * `JSON.parse` of the body is shown beside it: that much nobody can slice.
 */
import { Agent, request } from "node:http";
import { parseArgs } from "node:util";
import { freePort, startProgram } from "./child.ts";

const MB = 1_000_000;
/** A little below the largest body that is accepted. */
const LARGEST = 30 * MB;
const HEALTH_EVERY_MS = 1;

const { values: options, positionals: wanted } = parseArgs({
  allowPositionals: true,
  options: { root: { type: "string", default: "." }, rounds: { type: "string", default: "3" } },
});

interface Case {
  readonly name: string;
  readonly limitMs: number;
  readonly path?: string;
  readonly body: () => object;
}

const CASES: readonly Case[] = [
  chat("1 MB of letters", 50, () => letters(MB)),
  chat("1 MB of one letter", 50, () => "a".repeat(MB)),
  chat("1 MB of line ends", 50, () => "\n".repeat(MB)),
  chat("1 MB of emoji", 50, () => "\u{1F600}\u{1F9D1}\u{1F680}".repeat(MB / 12)),
  chat("1 MB of Chinese", 50, () => chinese(MB / 3)),
  chat("1 MB of base64", 50, () => base64(MB)),
  chat("1 MB of words", 50, () => "the quick brown fox ".repeat(MB / 20)),
  chat("1 MB of punctuation", 50, () => "!?;:".repeat(MB / 4)),
  chat("30 MB of words", 200, () => "the quick brown fox ".repeat(LARGEST / 20)),
  chat("30 MB of letters", 200, () => letters(LARGEST)),
  chat("13 MB of one letter", 200, () => "a".repeat(13 * MB)),
  chat("13 MB of Chinese", 200, () => chinese((13 * MB) / 3)),
  counted("30 MB of words, counted only", 200, () => "the quick brown fox ".repeat(LARGEST / 20)),
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
    name: "30 MB of numbers in a field nobody reads",
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
    name: "9,999 bogus seals of 100 characters",
    limitMs: 50,
    path: "/v1/responses",
    body: () => ({ model: "openai/gpt-oss-20b", input: [...cipher(9_999, 100), user("Hi")] }),
  },
  {
    name: "one bogus seal of 1 MB",
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
    name: "n = 88 of 400 KB",
    limitMs: 50,
    body: () => ({ messages: [user("the quick brown fox ".repeat(20_000))], n: 88, max_tokens: 1 }),
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
];

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

/** The same for everybody who runs this. */
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

function write(length: number, unit: () => number): string {
  const units = Uint16Array.from({ length }, unit);
  return Buffer.from(units.buffer).toString("utf16le");
}

function parts(count: number): object[] {
  return Array.from({ length: Math.floor(count) }, () => ({ type: "text", text: "a" }));
}

function tool(bytes: number, strict = false): object {
  const names = Array.from({ length: Math.floor(bytes / 28) }, (_, at) => `p${at}`);
  const properties = Object.fromEntries(names.map((name) => [name, { type: "string" }]));
  return {
    type: "function",
    function: { name: "f", strict, parameters: { type: "object", properties } },
  };
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
    { type: "function_call_output", call_id: `c${at}`, output: "the quick brown fox ".repeat(20) },
  ]).flat();
}

const port = await freePort();
const origin = `http://127.0.0.1:${port}`;
const program = await startProgram(
  process.execPath,
  [`${options.root}/src/node.ts`, "--port", String(port), "--log", "error"],
  `${origin}/health`,
);
const rows: Record<string, string | number>[] = [];
try {
  await send("/v1/chat/completions", JSON.stringify({ messages: [user("Warm up.")] }));
  for (const each of CASES) {
    if (wanted.length > 0 && !wanted.some((word) => each.name.includes(word))) continue;
    const body = JSON.stringify(each.body());
    const holds: number[] = [];
    let parseMs = Number.POSITIVE_INFINITY;
    let answer = { status: 0, ms: 0 };
    for (let round = 0; round < Number(options.rounds); round++) {
      const begun = performance.now();
      JSON.parse(body);
      parseMs = Math.min(parseMs, performance.now() - begun);
      const watch = watchHealth();
      answer = await send(each.path ?? "/v1/chat/completions", body);
      holds.push(await watch.end());
    }
    rows.push({
      request: each.name,
      "longest /health, ms": Math.round(Math.min(...holds)),
      "of it JSON.parse": Math.round(parseMs),
      allowed: each.limitMs,
      status: answer.status,
      "answered in ms": Math.round(answer.ms),
    });
  }
} finally {
  await program.stop();
}
console.table(rows);

/** Asks on a connection of its own, again and again. */
function watchHealth(): { end(): Promise<number> } {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const watching = { isOver: false };
  let longest = 0;
  const asking = (async () => {
    while (!watching.isOver) {
      const begun = performance.now();
      await ask("/health", undefined, agent);
      longest = Math.max(longest, performance.now() - begun);
      await new Promise((resolve) => setTimeout(resolve, HEALTH_EVERY_MS));
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

async function send(path: string, body: string): Promise<{ status: number; ms: number }> {
  const begun = performance.now();
  const status = await ask(path, body);
  return { status, ms: performance.now() - begun };
}

function ask(path: string, body?: string, agent?: Agent): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = request(
      `${origin}${path}`,
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
