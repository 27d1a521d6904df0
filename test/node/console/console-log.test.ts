import { Writable } from "node:stream";
import { describe, expect, test } from "vitest";
import { createConsoleLog } from "../../../src/node/console/console-log.ts";
import {
  createFileWriter,
  createLogOutput,
  createStreamWriter,
  type LogOutput,
} from "../../../src/node/console/log-output.ts";
import { testSettings } from "../../helpers/gateway.ts";

interface Screen extends LogOutput {
  readonly written: () => string;
}

function screen(isTTY: boolean, colours = false, columns = 60): Screen {
  let text = "";
  const write = (more: string) => {
    text += more;
    return true;
  };
  const output = createLogOutput(write, { isTTY, columns, hasColors: () => colours });
  return { ...output, written: () => text };
}

const START = {
  baseUrl: "http://127.0.0.1:8787/v1",
  version: "1.2.3",
  keys: 0,
  seconds: 0.31,
  backends: [
    { model: "openai/gpt-oss-20b", backend: "vllm", engine: "vllm", url: "http://gpu:8000" },
  ],
};
const REQUEST = { id: "1", method: "POST", route: "/v1/chat/completions", status: 200, ms: 12 };
const noon = () => new Date(2026, 0, 31, 12, 0, 0).getTime();

function logTo(output: LogOutput, settings = {}) {
  return createConsoleLog(testSettings(settings), output, noon).log;
}

describe("on a terminal", () => {
  test("the start prints the addresses, a command to try and the engine", () => {
    const output = screen(true);
    const inspect = "http://127.0.0.1:8787/inspect#token=4c9f";
    logTo(output).info("start", { ...START, inspect, inspectMaxRecords: 1000, store: "memory" });
    expect(output.written()).toBe(`
  harmony-gateway 1.2.3  ready in 310 ms

  ➜  Home       http://127.0.0.1:8787/
  ➜  OpenAI     http://127.0.0.1:8787/v1     no key needed on this machine
  ➜  Anthropic  http://127.0.0.1:8787
  ➜  Inspector  http://127.0.0.1:8787/inspect#token=4c9f
                keeps the last 1,000 turns in memory; --no-inspect turns it off
  ➜  Try        curl http://127.0.0.1:8787/v1/chat/completions -d '{"messages":[{"role":"user","content":"Hello!"}]}'
                stored responses end with this process; --store sqlite:state.db keeps them

  openai/gpt-oss-20b from vllm at http://gpu:8000

`);
  });

  test("where state ends with the process, the start says so, and how to keep it", () => {
    const started = (store: string) => {
      const output = screen(true);
      logTo(output).info("start", { ...START, store });
      return output.written().split("\n");
    };
    const keep =
      "                stored responses end with this process; --store sqlite:state.db keeps them";
    expect(started("memory")).toContain(keep);
    expect(started("memory").toSpliced(started("memory").indexOf(keep), 1)).toEqual(
      started("sqlite"),
    );
  });

  test("several backends are printed as a table", () => {
    const output = screen(true);
    const other = { ...START.backends[0], backend: "llama-cpp", engine: "llama-cpp" };
    logTo(output).info("start", { ...START, backends: [...START.backends, other] });
    expect(output.written()).toContain(`\
  model               backend    engine     url
  openai/gpt-oss-20b  vllm       vllm       http://gpu:8000
  openai/gpt-oss-20b  llama-cpp  llama-cpp  http://gpu:8000
`);
  });

  test("the command shows where a key goes", () => {
    const output = screen(true);
    logTo(output).info("start", { ...START, keys: 2 });
    expect(output.written()).toContain("-H 'Authorization: Bearer <key>'");
  });

  test("a request is one line, with its reason if it was refused", () => {
    const output = screen(true);
    const log = logTo(output);
    log.warn("turn", { id: "1", finish: "failed", model: "m", message: "It cannot be reached." });
    log.info("request", { ...REQUEST, status: 502, tenant: "alice" });
    log.info("request", { ...REQUEST, status: 400, reason: "messages: must be an array" });
    log.info("request", { ...REQUEST, route: "/v1/models", method: "GET", client: "curl" });
    expect(output.written()).toBe(`\
12:00:00  failed  m: It cannot be reached.
12:00:00  502  chat       alice             12 ms
12:00:00  400  chat       12 ms  messages: must be an array
12:00:00  200  GET /v1/models  curl              12 ms
`);
  });

  /** An answer of 59 tokens in 0.6 s. */
  const TURN = {
    id: "1",
    finish: "tool_calls",
    seconds: 0.61,
    firstTokenSeconds: 0.021,
    promptTokens: 117,
    completionTokens: 59,
    cachedTokens: 0,
    calls: ["get_weather"],
  };
  const ANSWERED = { ...REQUEST, sentMs: 612, tenant: "anonymous", client: "openai-python" };

  test("an answer is one line at its end: client, tokens, times, speed, tools", () => {
    const output = screen(true, false, 120);
    const log = logTo(output);
    log.info("turn", TURN);
    expect(output.written()).toBe("");
    log.info("request", ANSWERED);
    log.info("turn", {
      ...TURN,
      id: "2",
      finish: "length",
      promptTokens: 9_812,
      cachedTokens: 9_100,
      calls: undefined,
      recoveries: { trailing: 1 },
    });
    log.info("request", {
      ...ANSWERED,
      id: "2",
      route: "/v1/responses",
      tenant: "alice",
      client: "codex",
    });
    expect(output.written()).toBe(`\
12:00:00  200  chat       openai-python     117 → 59     first 21 ms    0.6 s  100 tok/s  ⚙ get_weather
12:00:00  200  responses  alice · codex     9.8k → 59    first 21 ms    0.6 s  100 tok/s  cut at limit  repaired  9.1k cached
`);
  });

  test.each([
    [
      90,
      "12:00:00  200  chat       openai-python     117 → 59      0.6 s  100 tok/s  ⚙ get_weather\n",
    ],
    [70, "12:00:00  200  chat       openai-python     117 → 59      0.6 s  ⚙ get_weather\n"],
  ])("%i columns have room for fewer words", (columns, line) => {
    const output = screen(true, false, columns);
    const log = logTo(output);
    log.info("turn", TURN);
    log.info("request", ANSWERED);
    expect(output.written()).toBe(line);
  });

  test("a client that leaves is named", () => {
    const output = screen(true, false, 120);
    const log = logTo(output);
    log.info("turn", { id: "1", finish: "cancelled", seconds: 3.1, firstTokenSeconds: 0.3 });
    log.info("request", { ...ANSWERED, sentMs: 3_100, clientLeft: true });
    log.info("request", { ...REQUEST, status: 499 });
    expect(output.written()).toBe(`\
12:00:00  left  chat      openai-python                  first 0.3 s    3.1 s  client disconnected
12:00:00  left  chat      12 ms  client disconnected
`);
  });

  test("a background response has a second line when its turn ends", () => {
    const output = screen(true, false, 120);
    const log = logTo(output);
    log.info("request", { ...ANSWERED, route: "/v1/responses", sentMs: 4 });
    log.info("turn", { ...TURN, seconds: 9 });
    expect(output.written()).toBe(`\
12:00:00  200  responses  openai-python     4 ms
12:00:00  200  responses  openai-python     117 → 59     first 21 ms    9.0 s  7 tok/s    ⚙ get_weather
`);
  });

  test("the shutdown counts the turns that it waits for and the served ones", () => {
    const output = screen(true);
    const log = logTo(output);
    log.info("shutdown", { inFlight: 2, graceMs: 30_000 });
    log.info("turn", TURN);
    log.warn("turn", {
      ...TURN,
      finish: "failed",
      promptTokens: 1_200_000,
      model: "m",
      error: "closed",
    });
    log.info("stop");
    expect(output.written()).toBe(`\
12:00:00  Finishing 2 answers (up to 30 s). Ctrl+C again to quit now.
12:00:00  failed  m: closed
12:00:00  2 turns · 1.2M tokens in · 118 out · 1 failed
`);
  });

  test("turns without a request and requests without a turn take no more room than a thousand", () => {
    const output = screen(true);
    const other = logTo(output);
    for (let id = 0; id < 1_001; id += 1) other.info("turn", { ...TURN, id: String(id) });
    other.info("request", { ...ANSWERED, id: "0" });
    other.info("request", { ...ANSWERED, id: "1" });
    const [first, second] = output.written().split("\n");
    expect([first?.includes("117"), second?.includes("117")]).toEqual([false, true]);
  });

  test("an engine that is missing, ready, lost and back, each with the command to type", () => {
    const output = screen(true);
    let seconds = 0;
    const { log } = createConsoleLog(testSettings({}), output, () => noon() + seconds * 1000);
    const model = "openai/gpt-oss-20b";
    const backend = "vllm";
    log.info("start", START);
    const greeting = output.written().length;
    log.warn("engine unavailable", { model, reason: "Cannot reach http://gpu:8000." });
    log.info("engines found", {
      engines: [{ kind: "ollama", url: "http://127.0.0.1:11434", models: ["gpt-oss:20b"] }],
    });
    seconds = 41;
    log.info("engine ready", { model, description: "vllm 0.14.1", contextLength: 131_072 });
    log.warn("backend down", { model, backend, reason: "it cannot be reached" });
    seconds = 50;
    log.info("backend up", { model, backend });
    log.info("models found", { backends: START.backends });
    expect(output.written().slice(greeting)).toBe(`\
12:00:00  ✗  openai/gpt-oss-20b: Cannot reach http://gpu:8000.
             Retrying; requests get 503 until it answers.
12:00:00  Engines on this machine, not used unless you say so:
               ollama with gpt-oss:20b   harmony-gateway --url http://127.0.0.1:11434
12:00:41  ✓  openai/gpt-oss-20b is ready   vllm 0.14.1 at http://gpu:8000 · 131,072 tokens   after 41 s
12:00:41  ✗  openai/gpt-oss-20b (vllm) is down: it cannot be reached
             Check it: harmony-gateway doctor --url http://gpu:8000
12:00:50  ✓  openai/gpt-oss-20b (vllm) answers again   after 9 s
12:00:50  ✓  serving openai/gpt-oss-20b
`);
  });

  test("a download stays on one line, which the next entry replaces", () => {
    const output = screen(true);
    const log = logTo(output);
    log.info("download", { model: "m", progress: "10%" });
    log.info("download", { model: "m", progress: "11%" });
    log.info("loading", { model: "m", file: "m.gguf" });
    expect(output.written().replaceAll("\r\u001B[2K", "<again>")).toBe(
      "12:00:00  m: 10%<again>12:00:00  m: 11%<again>12:00:00  m: loading m.gguf\n",
    );
  });

  test("S15: control characters in words of clients and servers are spelled, in lists as well", () => {
    const output = screen(true);
    const hostile = "a\u001B[2Jb\u009B1mc\u2028d\u202Ee\nf";
    logTo(output).info("tools skipped", { kinds: [hostile], kind: hostile });
    logTo(output).warn("engine unavailable", { model: "m", reason: hostile });
    const spelled = String.raw`a\u001b[2Jb\u009b1mc\u2028d\u202ee`;
    expect(output.written()).toBe(
      `12:00:00  tools skipped  kinds=["${spelled}\\nf"]  kind=${spelled} f\n` +
        `12:00:00  ✗  m: ${spelled} f\n             Retrying; requests get 503 until it answers.\n`,
    );
  });

  test.each([true, false])("there is colour where it is supported: %s", (colours) => {
    const output = screen(true, colours);
    logTo(output).info("request", REQUEST);
    expect(output.written().includes("\u001B[32m200")).toBe(colours);
  });

  test("the settings are shown at debug only", () => {
    const output = screen(true);
    logTo(output).debug("settings", { port: 1 });
    expect(output.written()).toBe("");
    logTo(output, { log: "debug" }).debug("settings", { port: 1 });
    expect(output.written()).toBe('{\n  "port": 1\n}\n');
  });
});

test.each([
  ["where there is no terminal", false, "auto"],
  ["when they are asked for", true, "json"],
])("JSON lines are written %s", (_, isTTY, logFormat) => {
  const output = screen(isTTY);
  logTo(output, { logFormat }).info("request", REQUEST);
  expect(JSON.parse(output.written())).toMatchObject({ event: "request", ...REQUEST });
});

test("the format text can be configured without a terminal, and has no colour then", () => {
  const output = screen(false, true);
  logTo(output, { logFormat: "text" }).info("request", REQUEST);
  expect(output.written()).toBe("12:00:00  200  chat       12 ms\n");
});

describe("S18: an output that fails", () => {
  test("costs lines, whose number follows the first one that is written again", () => {
    let isFull = true;
    let text = "";
    const output = createLogOutput((more) => {
      if (!isFull) text += more;
      return !isFull;
    });
    const { log } = createConsoleLog(testSettings({ logFormat: "text" }), output, noon);
    for (let count = 0; count < 3; count++) log.info("lost");
    expect(output.dropped).toBe(3);
    isFull = false;
    log.info("kept");
    log.info("kept");
    expect(text).toBe("12:00:00  kept\n12:00:00  log lines dropped  lines=3\n12:00:00  kept\n");
  });

  test("as a file, may be full in the middle of a line: the next one begins on a line of its own", () => {
    const room = [5, 0, 100, 100];
    let text = "";
    const write = createFileWriter((line) => {
      const bytes = Math.min(room.shift() ?? 0, line.length);
      if (bytes === 0) throw new Error("ENOSPC");
      text += line.slice(0, bytes);
      return bytes;
    });
    expect(["first line\n", "second\n", "third\n", "fourth\n"].map(write)).toEqual([
      false,
      false,
      true,
      true,
    ]);
    expect(text).toBe("first\nthird\nfourth\n");
  });

  test("as a stream, is not given more than its reader takes, and nothing once it has left", () => {
    const held: (() => void)[] = [];
    const stream = new Writable({ write: (_, __, done) => void held.push(done) });
    const write = createStreamWriter(stream);
    const line = "x".repeat(100_000);
    const written = Array.from({ length: 20 }, () => write(line));
    expect(written.filter(Boolean).length).toBe(11);
    stream.destroy(new Error("EPIPE"));
    expect(write(line)).toBe(false);
  });
});

describe("below the lines of a terminal", () => {
  function open(settings = {}, colours = false) {
    const output = screen(true, colours, 30);
    const { log, terminal } = createConsoleLog(testSettings(settings), output, noon);
    if (terminal === undefined) throw new Error("no terminal");
    return { log, terminal, output };
  }
  const REPLACED = "\r\u001B[2K";

  test("the status stays the last line, whatever is logged or printed", () => {
    const { log, terminal, output } = open();
    terminal.setStatus("1 running");
    log.warn("warning", { message: "Careful." });
    terminal.print("Help");
    terminal.setStatus("2 running");
    terminal.setStatus("2 running");
    terminal.setStatus("");
    log.warn("warning", { message: "Again." });
    expect(output.written()).toBe(
      `1 running${REPLACED}12:00:00  warning  Careful.\n1 running${REPLACED}Help\n1 running` +
        `${REPLACED}2 running${REPLACED}12:00:00  warning  Again.\n`,
    );
  });

  test("S15: control characters are spelled in printed lines, too", () => {
    const { terminal, output } = open();
    terminal.print("one\n\ttwo\u001B]0;title\u0007\u009B2J");
    expect(output.written()).toBe(`one\n\ttwo${String.raw`\u001b]0;title\u0007\u009b2J`}\n`);
  });

  test("it is cut where the line would wrap, before it is coloured", () => {
    const { terminal, output } = open({}, true);
    terminal.setStatus("x".repeat(100));
    expect(output.written()).toBe(`\u001B[2m${"x".repeat(29)}\u001B[22m`);
  });

  test("a download and the status replace each other", () => {
    const { log, terminal, output } = open();
    terminal.setStatus("1 running");
    log.info("download", { model: "m", progress: "1 %" });
    terminal.setStatus("2 running");
    expect(output.written()).toBe(`1 running${REPLACED}12:00:00  m: 1 %${REPLACED}2 running`);
  });

  test("a status that cannot be written does not count as a lost line", () => {
    const output = createLogOutput(() => false, { isTTY: true, columns: 80 });
    createConsoleLog(testSettings({}), output, noon).terminal?.setStatus("1 running");
    expect(output.dropped).toBe(0);
  });

  test("entries of all levels are shown on demand", () => {
    const { log, terminal, output } = open();
    log.debug("detail");
    expect(terminal.toggleDebug()).toBe(true);
    log.debug("detail");
    expect(terminal.toggleDebug()).toBe(false);
    log.debug("detail");
    expect(output.written()).toBe("12:00:00  detail\n");
  });

  test.each([
    ["JSON", true, { logFormat: "json" }],
    ["a pipe", false, {}],
    ["lines for people in a file", false, { logFormat: "text" }],
    ["a log of errors only", true, { log: "error" }],
  ])("%s has none", (_, isTTY, settings) => {
    const { terminal } = createConsoleLog(testSettings(settings), screen(isTTY), noon);
    expect(terminal).toBeUndefined();
  });
});
