/**
 * Attempts to escape from the interpreter, from Python and from the JavaScript below it. The latter are stopped only
 * by Deno's permissions. A version of Pyodide or Deno that allows an escape fails here.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { LocalPython } from "../../../src/node/python/local-runtime.ts";
import type { PythonSession } from "../../../src/tools/python/runtime.ts";
import { HAS_PYTHON, WITHOUT_PYTHON } from "../../helpers/parts.ts";
import { createTestPython } from "../../helpers/python.ts";
import { makeWheel } from "../../helpers/wheel.ts";
import { listenAnywhere } from "../../helpers/listen.ts";

const never = new AbortController().signal;
const SECRET = "canary-5f1c";
const START_MS = 180_000;

let folder: string;
let server: Server;
let port: number;
let connections = 0;
let python: LocalPython;
let session: PythonSession;
let companion: PythonSession | undefined;

describe.skipIf(!HAS_PYTHON)(`python in Deno${WITHOUT_PYTHON}`, () => {
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "isolation-"));
    writeFileSync(join(folder, "secret.txt"), SECRET);
    process.env["ISOLATION_CANARY"] = SECRET;
    server = createServer().on("connection", () => connections++);
    port = await listenAnywhere(server);
    // Two sessions are open at a time: with more room, an unused interpreter would be started ahead.
    python = createTestPython({ maxInterpreters: 2 });
    session = await python.open({ tenant: "acme" }, never);
  }, START_MS);

  afterAll(async () => {
    await python.close();
    server.close();
    delete process.env["ISOLATION_CANARY"];
    rmSync(folder, { recursive: true });
  });

  /** A session beside the other, the same for all tests: to start an interpreter takes longer than most of them. */
  async function secondSession(): Promise<PythonSession> {
    return (companion ??= await python.open({ tenant: "acme" }, never));
  }

  /** Runs code in which FILE, FOLDER and PORT stand for resources that must be unreachable. */
  function probe(code: string) {
    return session.run(fill(code), never);
  }

  function fill(code: string): string {
    return code
      .replaceAll("FILE", JSON.stringify(join(folder, "secret.txt")))
      .replaceAll("FOLDER", JSON.stringify(folder))
      .replaceAll("PORT", String(port));
  }

  /** Python code that evaluates JavaScript in the interpreter's process. */
  const evaluate = (script: string) =>
    "from pyodide.ffi import to_js\n" +
    `await to_js([1]).constructor.constructor("f", "return eval(f)()")(${JSON.stringify(`async () => { ${fill(script)} }`)})`;

  describe("from Python", () => {
    test.each<[string, string, RegExp]>([
      ["reads a file", "open(FILE).read()", /FileNotFoundError/],
      ["lists a folder", "import os; os.listdir(FOLDER)", /FileNotFoundError/],
      [
        "lists the root",
        "import os; sorted(os.listdir('/'))",
        /^\['dev', 'home', 'lib', 'mnt', 'proc', 'tmp'\]\n$/,
      ],
      ["reads the process' environment", "open('/proc/self/environ').read()", /FileNotFoundError/],
      ["reads variables", "import os; sorted(os.environ)", /^\['HOME', 'LANG', 'MPLBACKEND'\]\n$/],
      ["starts a process", "import subprocess; subprocess.run(['id'])", /OSError/],
      ["runs a shell command", "import os; os.system('id')", /OSError/],
      ["forks", "import os; os.fork()", /OSError|AttributeError/],
      ["forks a pool", "import multiprocessing; multiprocessing.Pool(2)", /Error/],
      [
        "starts a thread",
        "import threading; threading.Thread(target=print).start()",
        /can't start new thread/,
      ],
      ["imports the module of JavaScript's globals", "import js", /No module named 'js'/],
      [
        "imports Pyodide's own interface",
        "import pyodide_js; pyodide_js.runPython",
        /AttributeError/,
      ],
      ["runs JavaScript", "from pyodide.code import run_js", /ImportError/],
      [
        "runs JavaScript by the inner module",
        "import _pyodide_core; _pyodide_core.run_js",
        /AttributeError|ModuleNotFoundError/,
      ],
      ["sends a signal", "import os; os.kill(1, 9)", /Error/],
      ["signals the gateway", "import os; os.kill(os.getppid(), 15)", /PermissionError/],
      [
        "follows a link",
        "import os; os.symlink(FILE, 'link'); open('link').read()",
        /FileNotFound/,
      ],
      ["waits for input", "input()", /EOFError/],
    ])("%s", async (_, code, expected) => {
      const { output } = await probe(code);
      expect(output).toMatch(expected);
      expect(output).not.toContain(SECRET);
    });

    test.each<[string, string]>([
      [
        "a socket",
        "import socket\ns = socket.create_connection(('127.0.0.1', PORT), timeout=3)\ns.sendall(b'x')\ns.recv(1)",
      ],
      [
        "urllib",
        "import urllib.request; urllib.request.urlopen('http://127.0.0.1:PORT/', timeout=3)",
      ],
      [
        "Pyodide's synchronous request",
        "from pyodide.http import open_url; open_url('http://127.0.0.1:PORT/')",
      ],
      [
        "Pyodide's fetch",
        "from pyodide.http import pyfetch\nawait pyfetch('http://127.0.0.1:PORT/')",
      ],
      [
        "asyncio",
        "import asyncio\nawait asyncio.wait_for(asyncio.open_connection('127.0.0.1', PORT), 3)",
      ],
    ])("connects by %s", async (_, code) => {
      const before = connections;
      expect((await probe(code)).status).toBe("exception");
      expect(connections).toBe(before);
    });
  });

  describe("from JavaScript, which Python can reach by any of its objects", () => {
    /** Deno's refusals. Any other error may be a mistake in the probe itself. */
    const REFUSED =
      /NotCapable|Requires (?:read|import) access|NotADirectory|create cache storage|--no-(?:npm|remote) is specified|Error: denied|failed to open preopen/;
    test("is JavaScript", async () => {
      expect(await probe(evaluate("return 40 + 2"))).toMatchObject({ output: "42\n" });
      expect(await probe(evaluate("return typeof Deno.version.deno"))).toMatchObject({
        output: "'string'\n",
      });
    });

    test.each<[string, string]>([
      ["reads a file", "return Deno.readTextFileSync(FILE)"],
      ["reads a file as Node does", `return (await import("node:fs")).readFileSync(FILE, "utf8")`],
      ["imports a file", `return JSON.stringify(await import("file://" + FILE))`],
      ["lists a folder", "return [...Deno.readDirSync(FOLDER)].map((each) => each.name).join()"],
      ["writes a file", `Deno.writeTextFileSync(FILE, "x")`],
      ["reads the environment", `return Deno.env.get("ISOLATION_CANARY") ?? Deno.env.get("PATH")`],
      ["reads the environment by /proc", `return Deno.readTextFileSync("/proc/self/environ")`],
      [
        "starts a process",
        `return new TextDecoder().decode(new Deno.Command("/bin/sh").outputSync().stdout)`,
      ],
      [
        "starts a process as Node does",
        `return String((await import("node:child_process")).execSync("id"))`,
      ],
      ["connects", "const c = await Deno.connect({ port: PORT }); c.close(); return 1"],
      [
        "connects as Node does",
        `const net = await import("node:net"); await new Promise((resolve, reject) => net.connect(PORT, "127.0.0.1").on("connect", resolve).on("error", reject))`,
      ],
      ["resolves a name", `return await Deno.resolveDns("localhost", "A")`],
      ["imports from the network", `return await import("http://127.0.0.1:PORT/x.js")`],
      ["leaves something in the cache for others", `return String(await caches.open("x"))`],
      ["leaves something in the local storage", `localStorage.setItem("a", "b"); return 1`],
      ["imports from npm", `return await import("npm:left-pad")`],
      ["imports from a registry", `return await import("jsr:@std/assert")`],
      ["listens", "Deno.listen({ port: 0 }); return 1"],
      ["loads a library", `Deno.dlopen("libc.so.6", {}); return 1`],
      [
        "asks for a permission",
        `const { state } = await Deno.permissions.request({ name: "net" }); if (state !== "granted") throw new Error(state)`,
      ],
      ["reads the system's facts", "return Deno.hostname()"],
      ["sends a signal", `Deno.kill(Deno.ppid, "SIGCONT"); return 1`],
      ["sends a signal as Node does", `process.kill(process.ppid, "SIGCONT"); return 1`],
      ["debugs itself", `(await import("node:inspector")).open(0); return 1`],
      [
        "opens a folder by WASI",
        `new (await import("node:wasi")).WASI({ version: "preview1", preopens: { "/": FOLDER } }); return 1`,
      ],
      [
        "opens a database",
        `new (await import("node:sqlite")).DatabaseSync(FOLDER + "/x.db"); return 1`,
      ],
      [
        "reads a file in another thread",
        `const { Worker } = await import("node:worker_threads");
        const worker = new Worker("require('node:fs').readFileSync(" + JSON.stringify(FILE) + ")", { eval: true });
        return await new Promise((resolve, reject) => worker.on("error", reject).on("exit", resolve))`,
      ],
    ])("%s", async (_, script) => {
      const before = connections;
      const { status, output } = await probe(evaluate(script));
      expect({ status, output }).toEqual({
        status: "exception",
        output: expect.stringMatching(REFUSED),
      });
      expect(output).not.toContain(SECRET);
      expect(connections).toBe(before);
    });
  });

  describe("bombs", () => {
    test("too much memory is an exception, and the interpreter continues", async () => {
      await session.run("kept = 7", never);
      expect((await session.run("x = bytearray(1 << 30)", never)).output).toMatch(/MemoryError/);
      expect(
        (await session.run("x = []\nwhile True: x.append(bytes(10_000_000))", never)).output,
      ).toMatch(/MemoryError/);
      expect(await session.run("del x\nkept", never)).toMatchObject({ output: "7\n" });
    });

    test.each([
      ["written", "open('big', 'wb').write(bytes(100_000_000))"],
      ["written piece by piece", "f = open('big', 'wb')\nwhile True: f.write(bytes(1_000_000))"],
      ["truncated", "open('big', 'wb').truncate(1 << 40)"],
      [
        "made one by one",
        "i = 0\nwhile True:\n  i += 1\n  open(f'big-{i}', 'wb').write(bytes(5_000_000))",
      ],
    ])("files that are too large are refused: %s", async (_, code) => {
      expect((await session.run(code, never)).output).toMatch(/OSError/);
      const clean =
        "import glob, os\nf = None\nfor each in glob.glob('big*'): os.remove(each)\nopen('a', 'wb').write(bytes(40_000_000))";
      expect(await session.run(clean, never)).toMatchObject({ output: "40000000\n" });
      await session.run("os.remove('a')", never);
    });

    test("endless output is cut", async () => {
      const { output } = await session.run("for i in range(200_000): print('line', i)", never);
      expect(output.length).toBeLessThan(20_100);
      expect(output).toMatch(/^line 0\n[^]*characters omitted[^]*line 199999\n$/);
    });

    test("S5: code that writes the result of its own call is killed, and does not run on", async () => {
      const forging = await secondSession();
      const script =
        'const { writeSync } = await import("node:fs");' +
        'const result = { type: "result", id: 1, status: "ok", output: "forged", files: [], withheld: [] };' +
        'writeSync(1, JSON.stringify(result) + "\\n"); for (;;);';
      expect(await forging.run(evaluate(script), never)).toMatchObject({
        status: "crash",
        output: "",
      });
      expect(await forging.run("1 + 1", never)).toMatchObject({ output: "2\n", restarted: true });
    });

    const write = (fd: number, byte: number) => () =>
      evaluate(
        `const { writeSync } = await import("node:fs"); const bytes = new Uint8Array(1e5).fill(${byte}); for (;;) writeSync(${fd}, bytes);`,
      );
    test.each<[string, () => string]>([
      ["a line without an end", write(1, 65)],
      ["empty lines without an end", write(1, 10)],
      ["errors without an end", write(2, 65)],
      ["the C function `system`", () => "import ctypes; ctypes.CDLL(None).system(b'id')"],
      [
        "recursion without a limit",
        () => "import sys\nsys.setrecursionlimit(10**8)\ndef f(): f()\nf()",
      ],
    ])("%s ends the interpreter, and the next call has a new one", async (_, toCode) => {
      const ending = await secondSession();
      expect(await ending.run(toCode(), never)).toMatchObject({ status: "crash" });
      expect(await ending.run("1 + 1", never)).toMatchObject({ output: "2\n", restarted: true });
    });

    test("S5: code that replaces functions sees no id of a later call", async () => {
      const spying = await secondSession();
      // Frozen objects are an accepted result.
      const script = `
        const seen = (globalThis.seen = []);
        const spy = (owner, name) => {
          const original = owner[name];
          try {
            owner[name] = function (...args) {
              const value = original.apply(this, args);
              for (const each of [value, args[0], this]) {
                const text = each instanceof Uint8Array ? String.fromCharCode(...each.slice(0, 200)) : String(each);
                if (/[0-9a-f]{32}/.test(text) || each?.id) seen.push(name);
              }
              return value;
            };
          } catch {}
        };
        for (const name of ["parse", "stringify"]) spy(JSON, name);
        for (const name of ["subarray", "indexOf", "set", "slice"]) spy(Uint8Array.prototype, name);
        for (const name of ["concat", "from"]) spy(Buffer, name);
        spy(Buffer.prototype, "toString");
        spy(TextDecoder.prototype, "decode");
        const fs = (await import("node:fs")).default;
        for (const name of ["readSync", "writeSync"]) spy(fs, name);
        (await import("node:module")).default.syncBuiltinESMExports?.();`;
      await spying.run(evaluate(script), never);
      await spying.run("1", never);
      const { output } = await spying.run(evaluate("return globalThis.seen.join()"), never);
      expect(output).toBe("''\n");
    });

    test("deep recursion is survived", async () => {
      const { output } = await session.run("def f(): return f()\nf()", never);
      expect(output).toMatch(/RecursionError/);
      expect(await session.run("1 + 1", never)).toMatchObject({ output: "2\n" });
    });

    test.runIf(process.platform === "linux")(
      "memory taken past Python's limit ends the interpreter (skipped where the system is not Linux)",
      async () => {
        const bombed = await secondSession();
        const script =
          // The code passes the limit by little: the machine must not run out of memory before the next check.
          "const all = []; for (;;) { if (all.length < 60) all.push(new Uint8Array(2e7).fill(1)); await new Promise((r) => setTimeout(r)); }";
        const code =
          "from pyodide.ffi import to_js\n" +
          `await to_js([1]).constructor.constructor("f", "return eval(f)()")(${JSON.stringify(`async () => { ${fill(script)} }`)})`;
        expect(await bombed.run(code, never)).toMatchObject({ status: "memory" });
        expect(await bombed.run("1 + 1", never)).toMatchObject({ output: "2\n", restarted: true });
      },
    );

    describe("that never end", () => {
      let quick: LocalPython;
      let looping: PythonSession;

      beforeAll(async () => {
        quick = createTestPython({ timeoutMs: 3000, maxInterpreters: 1 });
        looping = await quick.open({ tenant: "acme" }, never);
      }, START_MS);

      afterAll(() => quick.close());

      test("an endless loop is stopped, and the session starts again", async () => {
        expect(await looping.run("print('begun')\nwhile True: pass", never)).toMatchObject({
          status: "timeout",
        });
        const after = await looping.run("'x' in globals()", never);
        expect(after).toMatchObject({ output: "False\n", restarted: true });
      });

      test("an abort kills the code", async () => {
        const leaving = new AbortController();
        const running = looping.run("while True: pass", leaving.signal);
        leaving.abort(new Error("the client left"));
        await expect(running).rejects.toThrow("the client left");
      });
    });
  });

  describe("ordinary use", () => {
    test.each<[string, string, string]>([
      ["prints", "print(55)", "55\n"],
      ["shows the last expression, as a notebook does", "sum(i*i for i in range(1, 6))", "55\n"],
      ["shows nothing where there is nothing", "x = 41", ""],
      ["keeps variables", "print(x + 1)", "42\n"],
      ["awaits", "import asyncio\nasync def f(): return 3\nawait f()", "3\n"],
      ["runs asyncio", "import asyncio\nasync def g(): return 3\nasyncio.run(g())", "3\n"],
      [
        "sleeps",
        "import asyncio\nawait asyncio.sleep(0.01)\nasyncio.run(asyncio.sleep(0.01, 4))",
        "4\n",
      ],
      ["takes code as it is written", "  \nif 1:\n   y = 2\ny\n", "2\n"],
      ["ends quietly", "import sys; sys.exit(1)", ""],
    ])("%s", async (_, code, output) => {
      expect(await session.run(code, never)).toMatchObject({ output });
    });

    test("shows where an exception was raised, without our own frames", async () => {
      const { output, status } = await session.run("def f():\n  return 1/0\n\nf()", never);
      expect(status).toBe("exception");
      expect(output).toMatch(
        /^Traceback[^]*line 4, in <module>\n {4}f\(\)[^]*line 2, in f[^]*ZeroDivisionError: division by zero\n$/,
      );
      expect(output).not.toMatch(/pyodide|_run|CodeRunner/);
    });

    test("returns the files that a call writes, and only those", async () => {
      const svg = "<svg xmlns='http://www.w3.org/2000/svg'/>";
      const first = await session.run(`open('/mnt/data/chart.svg', 'w').write("${svg}")`, never);
      expect(first.files).toEqual([
        { path: "/mnt/data/chart.svg", base64: Buffer.from(svg).toString("base64") },
      ]);
      const second = await session.run("open('large.bin', 'wb').write(bytes(2_000_000))", never);
      expect(second).toMatchObject({ files: [], withheld: ["/mnt/data/large.bin"] });
      const third = await session.run("open('chart.svg').read()", never);
      expect(third).toMatchObject({ output: `"${svg}"\n`, files: [], withheld: [] });
    });

    test("no two interpreters draw the same random numbers", async () => {
      const other = await secondSession();
      const draw = "import random; random.random()";
      const [a, b] = [await session.run(draw, never), await other.run(draw, never)];
      expect(a.output).toMatch(/^0\.\d+\n$/);
      expect(a.output).not.toBe(b.output);
    });

    test("wheels of the operator's folder can be imported, and nothing else", async () => {
      writeFileSync(join(folder, "tiny-1.0-py3-none-any.whl"), makeWheel("tiny", "ANSWER = 42\n"));
      const stocked = createTestPython({ wheelsFolder: folder, maxInterpreters: 1 });
      expect(stocked.packages).toEqual(["tiny"]);
      const using = await stocked.open({ tenant: "acme" }, never);
      expect(await using.run("import tiny\ntiny.ANSWER", never)).toMatchObject({ output: "42\n" });
      expect((await using.run("import numpy", never)).output).toMatch(/No module named 'numpy'/);
      await stocked.close();
    });

    test("a session is resumed", async () => {
      const first = await secondSession();
      await first.run("mark = 'here'", never);
      await first.release();
      companion = await python.open({ tenant: "acme", id: first.id }, never);
      expect([companion.resumed, (await companion.run("mark", never)).output]).toEqual([
        true,
        "'here'\n",
      ]);
    });
  });
});
