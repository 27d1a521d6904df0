/** The model writes code that draws a chart, real Pyodide runs it, and clients of both APIs get the SVG. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { createLocalPython, type LocalPython } from "../../../src/node/python/local-runtime.ts";
import { createPythonTool } from "../../../src/tools/python/tool.ts";
import { createBrowsingApp, MODEL } from "../../helpers/browsing-app.ts";
import { DENO, HAS_PYTHON, PYODIDE, PYTHON_CACHE, WITHOUT_PYTHON } from "../../helpers/parts.ts";
import { scriptedEngine } from "../../helpers/scripted-engine.ts";

const CODE = `\
bars = [3, 1, 2]
rects = "".join(f'<rect x="{20 * i}" y="{30 - 10 * v}" width="15" height="{10 * v}"/>' for i, v in enumerate(bars))
with open("/mnt/data/chart.svg", "w") as file:
    file.write(f'<svg xmlns="http://www.w3.org/2000/svg">{rects}</svg>')
print(sum(bars))
`;
const SVG =
  '<svg xmlns="http://www.w3.org/2000/svg"><rect x="0" y="0" width="15" height="30"/>' +
  '<rect x="20" y="20" width="15" height="10"/><rect x="40" y="10" width="15" height="20"/></svg>';
const URL = `data:image/svg+xml;base64,${Buffer.from(SVG).toString("base64")}`;
const SCRIPT = [
  `<|channel|>analysis<|message|>I draw it.<|end|><|start|>assistant<|channel|>analysis to=python code<|message|>${CODE}<|call|>`,
  "<|channel|>analysis to=python code<|message|>len(bars)<|call|>",
  "<|channel|>final<|message|>Here is the chart.<|return|>",
];

const reply = z.object({
  choices: z.tuple([
    z.object({
      message: z.object({ content: z.string(), executed_tools: z.array(z.unknown()) }),
    }),
  ]),
});

describe.skipIf(!HAS_PYTHON)(`a chart drawn by the model's code${WITHOUT_PYTHON}`, () => {
  let python: LocalPython;
  let ids = 0;

  beforeAll(() => {
    python = createLocalPython({
      program: "deno",
      denoPath: DENO,
      pyodideFolder: PYODIDE,
      cacheFolder: PYTHON_CACHE,
      timeoutMs: 45_000,
      memoryBytes: 256 * 1024 * 1024,
      maxInterpreters: 2,
      maxInterpretersPerKey: 2,
      idleMs: 60_000,
      waitMs: 60_000,
      newId: () => `session-${++ids}`,
      onFailure: (error) => {
        throw error;
      },
    });
  });

  afterAll(() => python.close());

  const createChartApp = () =>
    createBrowsingApp({
      engine: scriptedEngine(SCRIPT),
      toolbox: { python: (options) => createPythonTool(python, options) },
    });

  test("on the Responses API, by OpenAI's client", { timeout: 180_000 }, async () => {
    const { client } = createChartApp();
    const response = await client.responses.create({
      model: MODEL,
      input: "Draw 3, 1, 2 as bars.",
      tools: [{ type: "code_interpreter", container: { type: "auto" } }],
      include: ["code_interpreter_call.outputs"],
    });
    expect(response.output_text).toBe("Here is the chart.");
    const calls = response.output.filter((item) => item.type === "code_interpreter_call");
    expect(calls).toMatchObject([
      {
        status: "completed",
        code: CODE,
        outputs: [
          { type: "logs", logs: "6\n" },
          { type: "image", url: URL },
        ],
      },
      { code: "len(bars)", outputs: [{ type: "logs", logs: "3\n" }] },
    ]);
    expect(calls[0]?.container_id).toBe(calls[1]?.container_id);
  });

  test("on Chat Completions", { timeout: 180_000 }, async () => {
    const { post } = createChartApp();
    const response = await post("/v1/chat/completions", {
      model: MODEL,
      messages: [{ role: "user", content: "Draw 3, 1, 2 as bars." }],
      tools: [{ type: "code_interpreter" }],
    });
    const { message } = reply.parse(await response.json()).choices[0];
    expect(message.content).toBe("Here is the chart.");
    expect(JSON.stringify(message.executed_tools)).toContain(URL);
    expect(message.executed_tools).toHaveLength(2);
  });
});
