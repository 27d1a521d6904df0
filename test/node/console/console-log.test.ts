import { describe, expect, test } from "vitest";
import { createConsoleLog, type Output } from "../../../src/node/console/console-log.ts";
import { testSettings } from "../../helpers/gateway.ts";

interface Screen extends Output {
  readonly written: () => string;
}

function screen(isTTY: boolean, colours = false): Screen {
  let text = "";
  return {
    isTTY,
    columns: 60,
    hasColors: () => colours,
    write: (more) => (text += more),
    written: () => text,
  };
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

function logTo(output: Output, settings = {}) {
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

  test("control characters of a server's message are removed", () => {
    const output = screen(true);
    logTo(output).warn("engine unavailable", { model: "m", reason: "\u001B[31mred\u0007\nline" });
    expect(output.written()).toBe(
      "12:00:00  waiting  m:  [31mred line The gateway keeps asking.\n",
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
