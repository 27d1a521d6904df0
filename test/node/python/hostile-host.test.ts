/** Processes that behave as code that has taken over an interpreter's process could. */
import { describe, expect, test } from "vitest";
import { type Interpreter, startInterpreter } from "../../../src/node/python/interpreter.ts";
import { FILE_LIMITS } from "../../../src/tools/python/runtime.ts";

const never = new AbortController().signal;
const CRASH = { status: "crash", output: "", files: [], withheld: [] };
const LINUX_ONLY = process.platform !== "linux";

/** `script`: JavaScript that answers requests, by `on(code, id)`, `say(object)` and `write(text)`. */
function start(script: string): Promise<Interpreter> {
  const program = `
    const write = (text) => process.stdout.write(text);
    const say = (message) => write(JSON.stringify(message) + "\\n");
    const result = (id) => ({ type: "result", id, status: "ok", output: "1\\n", files: [], withheld: [] });
    let on;
    ${script}
    process.stdin.on("data", (data) => {
      const { id, code } = JSON.parse(String(data));
      on(code, id);
    });
    say({ type: "ready" });`;
  return startInterpreter({
    launch: {
      command: process.execPath,
      toArguments: () => ["-e", program],
      environment: {},
      identity: "",
    },
    host: { pyodideFolder: "", wheels: [], maxFileBytes: 0, files: FILE_LIMITS },
    readable: [],
    timeoutMs: 60_000,
    residentBytes: 400 * 1024 * 1024,
    idleCpuMs: 500,
  });
}

/** Resolves when the process has ended by itself. */
async function ended(interpreter: Interpreter): Promise<void> {
  await expect.poll(() => interpreter.alive).toBe(false);
}

describe("S5: a process that writes anything but the wanted result is killed", () => {
  test.each([
    ["the number of the call", "say(result(1))"],
    ["an id that is a prefix", "say(result(id.slice(1)))"],
    ["another ready", 'say({ type: "ready" })'],
    ["no JSON", 'write("x\\n")'],
    ["an empty line", 'write("\\n")'],
    ["a file that is no base64", 'say({ ...result(id), files: [{ path: "a", base64: "<" }] })'],
    ["a line without an end", 'setInterval(() => write("x".repeat(100000)), 0)'],
    ["much on stderr", 'setInterval(() => process.stderr.write("x".repeat(10000)), 0)'],
  ])("%s", async (_, answer) => {
    const interpreter = await start(`on = (code, id) => { ${answer} };`);
    expect(await interpreter.run("1", never)).toEqual(CRASH);
    expect(interpreter.alive).toBe(false);
  });

  test.each([
    ["a line after the result", "say(result(id)); setTimeout(() => say(result(id)), 10)"],
    ["a line together with the result", 'write(JSON.stringify(result(id)) + "\\n{}\\n")'],
    ["a character after the result", 'write(JSON.stringify(result(id)) + "\\nx")'],
    [
      "much on stderr",
      'say(result(id)); setInterval(() => process.stderr.write("x".repeat(9000)), 0)',
    ],
  ])("%s: the result counts, and the process ends", async (_, answer) => {
    const interpreter = await start(`on = (code, id) => { ${answer} };`);
    expect(await interpreter.run("1", never)).toMatchObject({ status: "ok", output: "1\n" });
    await ended(interpreter);
  });

  test.skipIf(LINUX_ONLY)(
    "computing between two calls, and no other (skipped where the system is not Linux)",
    async () => {
      const idle = await start("on = (code, id) => say(result(id));");
      const interpreter = await start(
        "on = (code, id) => { say(result(id)); setInterval(() => { for (let i = 0; i < 1e8; i++); }, 0) };",
      );
      expect(await interpreter.run("1", never)).toMatchObject({ status: "ok" });
      await ended(interpreter);
      expect(idle.alive).toBe(true);
      await idle.kill();
    },
  );

  test.skipIf(LINUX_ONLY)(
    "taking memory between two calls (skipped where the system is not Linux)",
    async () => {
      const interpreter = await start(
        "const kept = []; on = (code, id) => { say(result(id)); setInterval(() => kept.push(Buffer.alloc(2e7, 1)), 50) };",
      );
      expect(await interpreter.run("1", never)).toMatchObject({ status: "ok" });
      await ended(interpreter);
    },
  );

  test("files and names beyond the limit are not looked at", async () => {
    const { files: most } = FILE_LIMITS;
    const interpreter = await start(
      `on = (code, id) => say({ ...result(id), withheld: [...Array(${most}).fill("a"), ...Array(100000).fill(1)] });`,
    );
    const { withheld } = await interpreter.run("1", never);
    expect(withheld).toEqual(Array.from({ length: most }, () => "a"));
    await interpreter.kill();
  });
});
