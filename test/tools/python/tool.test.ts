import { describe, expect, test } from "vitest";
import { PYTHON_DESCRIPTIONS, toolsSection } from "../../../src/harmony/index.ts";
import {
  type PythonOutcome,
  type PythonRuntime,
  type PythonSessionRequest,
  PythonUnavailable,
} from "../../../src/tools/python/runtime.ts";
import { createPythonTool } from "../../../src/tools/python/tool.ts";

const SESSION = {
  tenant: "acme",
  turnId: "t1",
  saved: undefined,
  signal: new AbortController().signal,
};
const OK: PythonOutcome = { status: "ok", output: "", files: [], withheld: [], restarted: false };

interface Given extends Partial<PythonRuntime> {
  readonly outcomes?: readonly Partial<PythonOutcome>[];
  readonly resumed?: boolean;
  readonly refuse?: Error;
}

function createRuntime({ outcomes = [], resumed = false, refuse, ...facts }: Given = {}) {
  const asked: PythonSessionRequest[] = [];
  const codes: string[] = [];
  let released = 0;
  const runtime: PythonRuntime = {
    stateful: true,
    network: "none",
    packages: [],
    timeoutMs: 60_000,
    open(request) {
      asked.push(request);
      if (refuse) return Promise.reject(refuse);
      return Promise.resolve({
        id: "session-1",
        resumed,
        run(code) {
          codes.push(code);
          return Promise.resolve({ ...OK, ...outcomes[codes.length - 1] });
        },
        release() {
          released++;
          return Promise.resolve();
        },
      });
    },
    close: () => Promise.resolve(),
    ...facts,
  };
  return { runtime, asked, codes, released: () => released };
}

async function call(
  given: Given,
  options: Parameters<typeof createPythonTool>[1] = {},
  saved?: string,
) {
  const { runtime, asked } = createRuntime(given);
  const run = await createPythonTool(runtime, options).open({ ...SESSION, saved });
  const result = await run.run({ id: "c1", recipient: "python", body: "code" }, SESSION.signal);
  return { ...result, asked, saved: run.save() };
}

describe("the description", () => {
  const describeTool = (facts: Partial<PythonRuntime>) =>
    createPythonTool(createRuntime(facts).runtime).namespace?.description;

  test("is that of training if nothing in it is wrong", () => {
    const facts = { network: "unknown", packages: undefined, timeoutMs: 120_000 } as const;
    expect(describeTool(facts)).toBe(PYTHON_DESCRIPTIONS.stateful);
    expect(describeTool({ ...facts, stateful: false })).toBe(PYTHON_DESCRIPTIONS.stateless);
  });

  test("is printed as prose, after a blank line", () => {
    const { namespace } = createPythonTool(createRuntime().runtime);
    expect(toolsSection(namespace ? [namespace] : [])).toMatch(
      /^# Tools\n\n## python\n\nUse this tool to execute Python code in your chain of thought\./,
    );
  });

  test("states the actual time limit, network and packages", () => {
    const text = describeTool({ timeoutMs: 60_000, packages: ["numpy", "sympy"] });
    expect(text).toContain("or time out after 60.0 seconds.");
    expect(text).toContain("Internet access for this session is disabled.");
    expect(text).toContain("these packages can be imported: numpy, sympy.");
    expect(text).not.toContain("UNKNOWN");
    expect(describeTool({ packages: [] })).toMatch(/Packages cannot be installed\.$/);
  });
});

test("a call without a result is described by its code", () => {
  const tool = createPythonTool(createRuntime().runtime);
  const shown = { type: "code", code: "1 + 1", containerId: "", outputs: [] };
  expect(tool.describe({ recipient: "python", body: "1 + 1" }, "")).toEqual(shown);
});

describe("the result of a call", () => {
  test.each<[string, Partial<PythonOutcome>, string]>([
    ["the output", { output: "55\n" }, "55\n"],
    [
      "a warning where there is none, as the tool of training does",
      {},
      "[WARN] No output available. Use print() to output anything to stdout to receive the output",
    ],
    [
      "the reason why code was stopped",
      { status: "timeout", output: "1" },
      "1\n[ERROR] The code was stopped after 60 seconds. Its variables and files are gone.",
    ],
    [
      "that memory ran out",
      { status: "memory" },
      "[ERROR] The code used too much memory and was stopped. Its variables and files are gone.",
    ],
    [
      "that earlier state is gone",
      { output: "1\n", restarted: true },
      "1\n[The interpreter was restarted: earlier variables and files are gone.]",
    ],
    [
      "which files reach the user",
      {
        files: [{ path: "/mnt/data/a.svg", base64: "PHN2Zy8+" }],
        withheld: ["/mnt/data/b.bin"],
      },
      "[Handed to the user: /mnt/data/a.svg. Too large or too many to hand on: /mnt/data/b.bin.]",
    ],
  ])("%s", async (_, outcome, text) => {
    expect((await call({ outcomes: [outcome] })).text).toBe(text);
  });

  test("an exception is an ordinary result, stopped code is a failure", async () => {
    expect((await call({ outcomes: [{ status: "exception" }] })).failed).toBe(false);
    expect((await call({ outcomes: [{ status: "crash" }] })).failed).toBe(true);
  });

  test("clients get logs and files in order, with types derived from the names", async () => {
    const files = [
      { path: "/mnt/data/a.SVG", base64: "AA==" },
      { path: "/mnt/data/x/b c.csv", base64: "AA==" },
      { path: "/mnt/data/page.html", base64: "AA==" },
    ];
    const { shown } = await call({ outcomes: [{ output: "1\n", files }] });
    expect(shown).toEqual({
      type: "code",
      code: "code",
      containerId: "cntr_session-1",
      outputs: [
        { type: "logs", logs: "1\n" },
        { type: "image", url: "data:image/svg+xml;base64,AA==" },
        { type: "image", url: "data:text/csv;name=b%20c.csv;base64,AA==" },
        { type: "image", url: "data:application/octet-stream;name=page.html;base64,AA==" },
      ],
    });
  });

  test("a missing interpreter is reported as the result", async () => {
    const result = await call({ refuse: new PythonUnavailable("All are in use.") });
    expect(result).toMatchObject({ text: "[ERROR] All are in use.", failed: true });
  });
});

describe("sessions", () => {
  test("one is opened at the first call, used for all of the turn, and released once", async () => {
    const { runtime, asked, codes, released } = createRuntime();
    const run = await createPythonTool(runtime).open(SESSION);
    expect(asked).toEqual([]);
    for (const body of ["x = 1", "x"]) {
      await run.run({ id: body, recipient: "python", body }, SESSION.signal);
    }
    await run.close();
    expect([asked.length, codes, released()]).toEqual([1, ["x = 1", "x"], 1]);
  });

  test("the next turn resumes the session", async () => {
    const { asked, saved, text } = await call({ resumed: true }, {}, "session-1");
    expect(asked).toEqual([{ tenant: "acme", id: "session-1" }]);
    expect(saved).toBe("session-1");
    expect(text).not.toContain("restarted");
  });

  test("the first result alone says that the session is gone", async () => {
    const { runtime } = createRuntime();
    const run = await createPythonTool(runtime).open({ ...SESSION, saved: "session-0" });
    const texts = [];
    for (const id of ["a", "b"]) {
      texts.push((await run.run({ id, recipient: "python", body: "1" }, SESSION.signal)).text);
    }
    expect(texts[0]).toContain("The interpreter was restarted");
    expect(texts[1]).not.toContain("restarted");
  });

  test.each([
    ["a container that the request names counts more", "cntr_session-7", "session-0", "session-7"],
    ["a container of somebody else's making is not asked for", "cntr_../x", "session-0", undefined],
    ["saved state that is no id is not asked for", undefined, "{}", undefined],
  ])("%s", async (_, containerId, saved, id) => {
    const { asked } = await call({}, containerId === undefined ? {} : { containerId }, saved);
    expect(asked[0]?.id).toBe(id);
  });

  test("a turn without a call keeps the saved state", async () => {
    const run = await createPythonTool(createRuntime().runtime).open({
      ...SESSION,
      saved: "session-0",
    });
    expect(run.save()).toBe("session-0");
    await run.close();
  });
});
