/** Tools of training that the client runs itself, on the Responses API, by OpenAI's client. */
import type OpenAI from "openai";
import { expect, test } from "vitest";
import { createBrowsingApp, MODEL } from "../../helpers/browsing-app.ts";
import { scriptedEngine } from "../../helpers/scripted-engine.ts";

const CODE = '"a docstring"\nprint(2**10)\n';
const CALL = `<|channel|>analysis<|message|>Compute.<|end|><|start|>assistant to=python<|channel|>analysis code<|message|>${CODE}<|call|>`;
const SEARCH = ' to=browser.search<|channel|>analysis code<|message|>{"query":"x"}<|call|>';
const FINAL = "<|channel|>final<|message|>1024<|return|>";

type Params = OpenAI.Responses.ResponseCreateParamsNonStreaming;

/** The types of OpenAI's client do not know the field. */
function toParams(fields: object): Params {
  const all = { model: MODEL, input: "What is 2**10?", builtin_tools: ["browser", "python"] };
  return JSON.parse(JSON.stringify({ ...all, ...fields }));
}

test.each(["own", "flat"])(
  "calls are the client's, and results go back as the model knows them, with namespaces %s",
  async (toolNamespaces) => {
    const engine = scriptedEngine([CALL, SEARCH, FINAL]);
    const { client } = createBrowsingApp({ engine, toolbox: {}, settings: { toolNamespaces } });
    const first = await client.responses.create(toParams({}));
    const code = first.output.find((item) => item.type === "custom_tool_call");
    expect(code).toMatchObject({ name: "python", input: CODE });
    const second = await client.responses.create(
      toParams({
        previous_response_id: first.id,
        input: [{ type: "custom_tool_call_output", call_id: code?.call_id, output: "1024\n" }],
      }),
    );
    const [before = "", after = ""] = engine.prompts;
    expect(after).toBe(
      `${before}${CALL}<|start|>python to=assistant<|channel|>analysis<|message|>1024\n<|end|><|start|>assistant`,
    );
    const search = second.output.find((item) => item.type === "function_call");
    expect(search).toMatchObject({
      namespace: "browser",
      name: "search",
      arguments: '{"query":"x"}',
    });
    const third = await client.responses.create(
      toParams({
        previous_response_id: second.id,
        input: [{ type: "function_call_output", call_id: search?.call_id, output: "[0] x" }],
      }),
    );
    expect(engine.prompts[2]).toBe(
      `${after}${SEARCH}<|start|>browser.search to=assistant<|channel|>analysis<|message|>[0] x<|end|><|start|>assistant`,
    );
    expect(third.output_text).toBe("1024");
  },
);

test("streamed, the code is the input as it stands", async () => {
  const { client } = createBrowsingApp({
    engine: scriptedEngine([CALL], { batch: 2 }),
    toolbox: {},
  });
  const stream = await client.responses.create({ ...toParams({}), stream: true });
  let input = "";
  for await (const event of stream) {
    if (event.type === "response.custom_tool_call_input.delta") input += event.delta;
  }
  expect(input).toBe(CODE);
});

test("a tool of the same name is refused", async () => {
  const { post } = createBrowsingApp({ engine: scriptedEngine([FINAL]), toolbox: {} });
  const tools = [{ type: "custom", name: "python" }];
  const response = await post("/v1/responses", toParams({ tools }));
  expect(response.status).toBe(400);
  expect(await response.text()).toContain(
    'builtin_tools[1]: \\"python\\" is also a tool of this request',
  );
});
