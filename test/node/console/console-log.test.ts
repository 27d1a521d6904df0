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

function screen(isTTY: boolean, colours = false): Screen {
  let text = "";
  const write = (more: string) => {
    text += more;
    return true;
  };
  const output = createLogOutput(write, { isTTY, columns: 60, hasColors: () => colours });
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
  return createConsoleLog(testSettings(settings), output, noon);
}

describe("on a terminal", () => {
  test("the start prints the engine, the address, a command to try and the pages", () => {
    const output = screen(true);
    logTo(output).info("start", START);
    expect(output.written()).toBe(`\
harmony-gateway 1.2.3 listens at http://127.0.0.1:8787/v1 (started in 0.3 s)

  openai/gpt-oss-20b from vllm at http://gpu:8000

  ask   curl http://127.0.0.1:8787/v1/chat/completions -H 'Content-Type: application/json' -d '{"model":"openai/gpt-oss-20b","messages":[{"role":"user","content":"Hello!"}]}'
  look  http://127.0.0.1:8787/ in a browser: the APIs, the models, the docs
  stop  Ctrl+C

`);
  });

  test("where state ends with the process, the start says so, and how to keep it", () => {
    const started = (store: string) => {
      const output = screen(true);
      logTo(output).info("start", { ...START, store });
      return output.written().split("\n");
    };
    const keep = "  keep  --store sqlite:state.db: in memory, state ends with this process";
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
    log.info("turn", { id: "1", finish: "stop" });
    log.warn("turn", { id: "1", finish: "failed", model: "m", message: "It cannot be reached." });
    log.info("request", { ...REQUEST, tenant: "alice" });
    log.info("request", { ...REQUEST, status: 400, reason: "messages: must be an array" });
    expect(output.written()).toBe(`\
12:00:00  failed  m: It cannot be reached.
12:00:00  200  POST /v1/chat/completions  12 ms  alice
12:00:00  400  POST /v1/chat/completions  12 ms  messages: must be an array
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

  test("S15: what a terminal obeys in words of clients and servers is spelled, in lists as well", () => {
    const output = screen(true);
    const hostile = "a\u001B[2Jb\u009B1mc\u2028d\u202Ee\nf";
    logTo(output).info("tools skipped", { kinds: [hostile], kind: hostile });
    logTo(output).warn("engine unavailable", { model: "m", reason: hostile });
    const spelled = String.raw`a\u001b[2Jb\u009b1mc\u2028d\u202ee`;
    expect(output.written()).toBe(
      `12:00:00  tools skipped  kinds=["${spelled}\\nf"]  kind=${spelled} f\n` +
        `12:00:00  waiting  m: ${spelled} f The gateway keeps asking.\n`,
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
  expect(output.written()).toBe("12:00:00  200  POST /v1/chat/completions  12 ms\n");
});

describe("S18: an output that fails", () => {
  test("costs lines, whose number follows the first one that is written again", () => {
    let isFull = true;
    let text = "";
    const output = createLogOutput((more) => {
      if (!isFull) text += more;
      return !isFull;
    });
    const log = createConsoleLog(testSettings({ logFormat: "text" }), output, noon);
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
