import { hash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { scriptedEngine, type Script } from "../../helpers/scripted-engine.ts";
import { loopScripts, analysisIn } from "../../helpers/tool-loop.ts";
import { CARRIERS, type Carrier, holdLoop } from "./loops.ts";
import { MODEL, responsesApp, SEALING_KEY } from "./support.ts";

/** The analysis messages in each prompt of two loops of three steps. */
async function analysisInPrompts(carrier: Carrier, streamed: boolean): Promise<string[][]> {
  const engine = scriptedEngine([...loopScripts("first"), ...loopScripts("second")]);
  const app = responsesApp({ engine });
  const ask = streamed ? app.stream : app.create;
  const held = await holdLoop(ask, carrier);
  await holdLoop(ask, carrier, held);
  return engine.prompts.map((prompt) => analysisIn(prompt));
}

describe.each([
  ["plain", false],
  ["streamed", true],
])(
  "the model reads its reasoning until it answers, %s, when the client sends back",
  (_, streamed) => {
    test.each(Object.entries(CARRIERS))("%s", async (_name, carrier) => {
      expect(await analysisInPrompts(carrier, streamed)).toEqual([
        [],
        ["first 1"],
        ["first 1", "first 2"],
        ["first 1", "first 2", "first 3"],
        [],
        ["second 1"],
        ["second 1", "second 2"],
        ["second 1", "second 2", "second 3"],
      ]);
    });
  },
);

const THINK_AND_CALL =
  "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant" +
  "<|channel|>commentary<|message|>One moment.<|end|><|start|>assistant" +
  "<|channel|>commentary to=functions.step <|constrain|>json<|message|>{}<|call|>";
const ANSWER = "<|channel|>final<|message|>Done.<|return|>";
const TOOLS = [{ type: "function", name: "step" }];

async function afterOneCall(
  settings: Record<string, unknown>,
  carrier: Carrier,
  scripts: readonly Script[] = [THINK_AND_CALL, ANSWER],
) {
  const engine = scriptedEngine(scripts);
  const app = responsesApp({ engine, settings });
  const first = await app.create({ input: "Go.", tools: TOOLS, ...carrier.body });
  const carried = first.output.flatMap((item) => carrier.carry?.(item) ?? []);
  const call = first.output.find((item) => item.type === "function_call");
  const response = await app.send("POST", "/v1/responses", {
    model: MODEL,
    tools: TOOLS,
    input: [
      { role: "user", content: "Go." },
      ...carried,
      { type: "function_call_output", call_id: call?.call_id, output: "ok" },
    ],
  });
  return { first, response, prompt: engine.prompts[1] ?? "" };
}

describe("sources of reasoning", () => {
  test.each([
    ["sent", "the whole output, readable"],
    ["sealed", "reasoning sealed, without its text"],
    ["stored", "references to reasoning"],
    ["stored", "no reasoning"],
  ])("the header says %s for %s", async (outcome, name) => {
    const { response } = await afterOneCall({}, { carry: (item) => item, ...CARRIERS[name] });
    expect(response.headers.get("x-harmony-cot")).toBe(outcome);
  });

  const call = " to=functions.step<|channel|>commentary <|constrain|>json<|message|>{}";
  const analysis = (text: string) =>
    `<|channel|>analysis<|message|>${text}<|end|><|start|>assistant`;
  const forget: Carrier = {
    carry: (item) => (item.type === "reasoning" ? undefined : item),
  };

  test("reasoning before an answer is not rendered again after it", async () => {
    const answer = "<|channel|>final<|message|>Done.<|end|><|start|>assistant";
    const { prompt } = await afterOneCall({}, forget, [
      `${analysis("Old.")}${answer}${analysis("New.")}${call}<|call|>`,
      ANSWER,
    ]);
    expect(prompt).not.toContain("Old.");
    expect(prompt).toContain(`${answer}${analysis("New.")}${call}<|call|>`);
  });

  test.each([
    ["altered", (sealed: string) => sealed.replace(/.$/, (last) => (last === "A" ? "B" : "A"))],
    ["foreign", () => "gAAAAABo"],
  ])("a seal that is %s is refused", async (_, alter) => {
    const { response } = await afterOneCall(
      {},
      {
        body: { include: ["reasoning.encrypted_content"], store: false },
        carry: (item) =>
          item.type === "reasoning"
            ? {
                type: "reasoning",
                summary: [],
                encrypted_content: alter(item.encrypted_content ?? ""),
              }
            : item,
      },
    );
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({
      error: {
        message: expect.stringContaining("not encrypted by this gateway"),
        type: "invalid_request_error",
        param: "input[1].encrypted_content",
        code: "invalid_encrypted_content",
      },
    });
  });

  test("encrypted reasoning from before the last answer is not decrypted", async () => {
    const engine = scriptedEngine([ANSWER]);
    const response = await responsesApp({ engine }).send("POST", "/v1/responses", {
      model: MODEL,
      input: [
        { role: "user", content: "Go." },
        { type: "reasoning", summary: [], encrypted_content: "gAAAAABo" },
        { role: "assistant", content: "Gone." },
        { role: "user", content: "Again." },
      ],
    });
    expect(response.status).toBe(200);
  });

  test("reasoning sent both readable and encrypted is rendered once", async () => {
    const { prompt } = await afterOneCall(
      {},
      { body: { include: ["reasoning.encrypted_content"] }, carry: (item) => item },
    );
    expect(analysisIn(prompt)).toEqual(["Hm."]);
  });
});

describe("what is returned", () => {
  const whole: Carrier = { carry: (item) => item };

  test("by default the text, and encrypted content only on request", async () => {
    const { first } = await afterOneCall({}, whole);
    expect(first.output[0]).toEqual({
      id: expect.any(String),
      type: "reasoning",
      status: "completed",
      summary: [],
      content: [{ type: "reasoning_text", text: "Hm." }],
    });
  });

  test("sealed: encrypted content without a request for it, no text, and the reasoning comes back", async () => {
    const { first, prompt } = await afterOneCall(
      { reasoningPolicy: "sealed", sealingKeys: [SEALING_KEY] },
      whole,
    );
    expect(first.output[0]).toMatchObject({ content: [], encrypted_content: expect.any(String) });
    expect(JSON.stringify(first)).not.toContain("Hm.");
    expect(analysisIn(prompt)).toEqual(["Hm."]);
  });

  test("none: neither, requested or not; the reasoning is restored by its id", async () => {
    const include = { body: { include: ["reasoning.encrypted_content"] } };
    const { first, prompt } = await afterOneCall(
      { reasoningPolicy: "none" },
      { ...whole, ...include },
    );
    expect(first.output[0]).toEqual({
      id: expect.any(String),
      type: "reasoning",
      status: "completed",
      summary: [],
      content: [],
    });
    expect(analysisIn(prompt)).toEqual(["Hm."]);
  });

  test("a stream hides the same as a plain reply", async () => {
    for (const reasoningPolicy of ["sealed", "none"]) {
      const app = responsesApp({
        engine: scriptedEngine([THINK_AND_CALL]),
        settings: { reasoningPolicy, sealingKeys: [SEALING_KEY] },
      });
      const request = { model: MODEL, input: "Go.", tools: TOOLS, stream: true };
      const response = await app.send("POST", "/v1/responses", request);
      const text = await response.text();
      expect(text).toContain("One moment.");
      expect(text).not.toContain("Hm.");
    }
  });

  test("one key cannot read another's reasoning: not by encrypted content, id, reference or call", async () => {
    const keys = [`alice:${hash("sha256", "a")}`, `bob:${hash("sha256", "b")}`];
    const engine = scriptedEngine([THINK_AND_CALL, ANSWER]);
    const app = responsesApp({ engine, settings: { keys } });
    const include = ["reasoning.encrypted_content"];
    const first = await app.create({ input: "Go.", tools: TOOLS, include }, "a");
    const [reasoning, , call] = first.output;
    if (reasoning?.type !== "reasoning" || call?.type !== "function_call")
      throw new Error("no call");
    const output = { type: "function_call_output", call_id: call.call_id, output: "ok" };
    const send = (...items: object[]) =>
      app.send("POST", "/v1/responses", { model: MODEL, tools: TOOLS, input: items }, "b");

    const { encrypted_content } = reasoning;
    const sealed = await send({ type: "reasoning", summary: [], encrypted_content }, call, output);
    expect(sealed.status).toBe(400);
    expect((await send({ type: "item_reference", id: reasoning.id }, call, output)).status).toBe(
      404,
    );
    const bare = await send({ type: "reasoning", id: reasoning.id, summary: [] }, call, output);
    expect(bare.headers.get("x-harmony-cot")).toBe("lost");
    expect(analysisIn(engine.prompts.at(-1))).toEqual([]);

    const previous = { model: MODEL, previous_response_id: first.id, input: [output] };
    expect((await app.send("POST", "/v1/responses", previous, "b")).status).toBe(400);
  });
});
