/** Edits of the context, through Anthropic's SDK. */
import type Anthropic from "@anthropic-ai/sdk";
import { describe, expect, test } from "vitest";
import { createBrowsingApp, MODEL } from "../../helpers/browsing-app.ts";
import { scriptedEngine } from "../../helpers/scripted-engine.ts";

type Edit = Anthropic.Beta.BetaClearToolUses20250919Edit;
type Messages = Anthropic.Beta.BetaMessageParam[];

const ANSWER = "<|channel|>final<|message|>Done.<|return|>";
const CLEARED = "[This result was removed to save space. Call the tool again if you need it.]";
const CLEAR = "clear_tool_uses_20250919";

const read: Anthropic.Beta.BetaTool = {
  name: "read",
  input_schema: { type: "object", properties: { path: { type: "string" } } },
};
const write: Anthropic.Beta.BetaTool = { ...read, name: "write" };

/** A loop of steps, each with a result of its own. */
function loop(
  steps: number,
  name: (step: number) => string = () => "read",
  toId: (step: number) => string = (step) => `toolu_${step}`,
): Messages {
  const messages: Messages = [{ role: "user", content: "Go." }];
  for (let step = 0; step < steps; step++) {
    const id = toId(step);
    const input = { path: `file-${step}` };
    messages.push(
      { role: "assistant", content: [{ type: "tool_use", id, name: name(step), input }] },
      {
        role: "user",
        content: [
          {
            type: "tool_result",
            tool_use_id: id,
            content: `Content ${step}. ${"word ".repeat(20)}`,
          },
        ],
      },
    );
  }
  return messages;
}

function bodyOf(messages: Messages, edit: Omit<Edit, "type"> | undefined) {
  return {
    model: MODEL,
    messages,
    tools: [read, write],
    ...(edit && { context_management: { edits: [{ type: CLEAR, ...edit } as const] } }),
  };
}

async function run(messages: Messages, edit: Omit<Edit, "type"> | undefined) {
  const engine = scriptedEngine(() => ANSWER);
  const { anthropic } = createBrowsingApp({ engine, toolbox: {} });
  const message = await anthropic.beta.messages.create({
    ...bodyOf(messages, edit),
    max_tokens: 99,
  });
  const prompt = engine.prompts[0] ?? "";
  return {
    message,
    prompt,
    kept: [...prompt.matchAll(/Content (\d+)\./g)].map(([, step]) => Number(step)),
    cleared: prompt.split(CLEARED).length - 1,
  };
}

const USES = { type: "tool_uses", value: 2 } as const;

describe("results of tools", () => {
  test("are cleared but for the last ones, with exact counts in a reply, in a stream and in a count", async () => {
    const messages = loop(6);
    const edit = { trigger: USES, keep: USES };
    const whole = await run(messages, undefined);
    const edited = await run(messages, edit);
    expect([edited.kept, edited.cleared]).toEqual([[4, 5], 4]);
    const before = whole.message.usage.input_tokens;
    const after = edited.message.usage.input_tokens;
    const applied = {
      applied_edits: [{ type: CLEAR, cleared_tool_uses: 4, cleared_input_tokens: before - after }],
    };
    expect(before).toBeGreaterThan(after);
    expect(edited.message.context_management).toEqual(applied);
    // Absent, as in the types of clients that do not know of edits.
    expect(whole.message).not.toHaveProperty("context_management");

    const { anthropic } = createBrowsingApp({ engine: scriptedEngine(() => ANSWER), toolbox: {} });
    const body = bodyOf(messages, edit);
    const streamed = anthropic.beta.messages.stream({ ...body, max_tokens: 99 });
    expect((await streamed.finalMessage()).context_management).toEqual(applied);
    expect(await anthropic.beta.messages.countTokens(body)).toEqual({
      input_tokens: after,
      context_management: { original_input_tokens: before },
    });
  });

  test("keep their calls, whose arguments are cleared with clear_tool_inputs only", async () => {
    const edit = { trigger: USES, keep: USES };
    expect((await run(loop(4), edit)).prompt).toContain('{"path":"file-0"}');
    const emptied = await run(loop(4), { ...edit, clear_tool_inputs: true });
    expect(emptied.prompt).not.toContain("file-0");
    expect(emptied.prompt).toContain('{"path":"file-3"}');
    const named = await run(loop(4), { ...edit, clear_tool_inputs: ["write"] });
    expect(named.prompt).toContain("file-0");
  });

  test.each<[string, Omit<Edit, "type">, number[]]>([
    ["below the trigger", { trigger: { type: "tool_uses", value: 6 } }, [0, 1, 2, 3, 4, 5]],
    ["of a prompt below the default trigger", {}, [0, 1, 2, 3, 4, 5]],
    ["of a prompt over its trigger", { trigger: { type: "input_tokens", value: 50 } }, [3, 4, 5]],
    [
      "if it gains less than asked for",
      { trigger: USES, clear_at_least: { type: "input_tokens", value: 5000 } },
      [0, 1, 2, 3, 4, 5],
    ],
    [
      "until they are worth what is asked for together",
      {
        trigger: USES,
        keep: { type: "tool_uses", value: 1 },
        clear_at_least: { type: "input_tokens", value: 20 },
      },
      [3, 4, 5],
    ],
    ["of excluded tools", { trigger: USES, exclude_tools: ["write", "none"] }, [1, 3, 4, 5]],
    ["that the model has not read", { trigger: USES, keep: { type: "tool_uses", value: 0 } }, [5]],
  ])("%s stay", async (_, edit, kept) => {
    const tool = (step: number) => (step % 2 === 1 ? "write" : "read");
    expect((await run(loop(6, tool), edit)).kept).toEqual(kept);
  });

  describe("whose client uses one id for each step", () => {
    const tool = (step: number) => (step % 2 === 1 ? "write" : "read");
    const messages = loop(6, tool, () => "call_0");

    test.each<[string, Omit<Edit, "type">, number[]]>([
      ["the last ones", { trigger: USES, keep: USES }, [4, 5]],
      [
        "those the model has not read",
        { trigger: USES, keep: { type: "tool_uses", value: 0 } },
        [5],
      ],
      ["those of excluded tools", { trigger: USES, exclude_tools: ["write"] }, [1, 3, 4, 5]],
      ["all below the trigger", { trigger: { type: "tool_uses", value: 6 } }, [0, 1, 2, 3, 4, 5]],
    ])("%s stay, and the others are counted", async (_, edit, kept) => {
      const edited = await run(messages, edit);
      expect(edited.kept).toEqual(kept);
      const uses = edited.message.context_management?.applied_edits.map((each) =>
        each.type === CLEAR ? each.cleared_tool_uses : undefined,
      );
      expect(uses).toEqual(kept.length === 6 ? [] : [6 - kept.length]);
    });

    test("only arguments of calls whose results are cleared are cleared", async () => {
      const { prompt } = await run(messages, {
        trigger: USES,
        exclude_tools: ["write"],
        clear_tool_inputs: true,
      });
      const paths = [...prompt.matchAll(/"file-(\d)"/g)].map(([, step]) => Number(step));
      expect(paths).toEqual([1, 3, 4, 5]);
    });
  });

  test("the same request has the same prompt on another gateway", async () => {
    const edit = { trigger: USES };
    expect((await run(loop(8), edit)).prompt).toBe((await run(loop(8), edit)).prompt);
  });
});

const post = async (fields: object) => {
  const engine = scriptedEngine(() => ANSWER);
  const app = createBrowsingApp({ engine, toolbox: {} });
  const body = { model: MODEL, max_tokens: 99, messages: [{ role: "user", content: "Hi" }] };
  const response = await app.post("/v1/messages", { ...body, ...fields });
  return { status: response.status, headers: response.headers, text: await response.text() };
};

describe("other edits", () => {
  test("clear_thinking clears nothing, and nothing is reported: thinking is not in the prompt, or needed", async () => {
    const edits = [{ type: "clear_thinking_20251015", keep: "all" }];
    const { status, text } = await post({ context_management: { edits } });
    expect(status).toBe(200);
    expect(JSON.parse(text)).toMatchObject({ context_management: { applied_edits: [] } });
  });

  test("a strategy that is not known is refused with the words that Claude Code looks for", async () => {
    const { status, text } = await post({
      context_management: { edits: [{ type: "clear_tool_uses_20991231" }] },
    });
    const { message } = JSON.parse(text).error;
    expect([status, message]).toEqual([
      400,
      'openai/gpt-oss-20b does not support the "clear_tool_uses_20991231" context management strategy',
    ]);
    expect(message).toMatch(
      /^\S{1,128} does not support the \W?clear_tool_uses_20991231\W? context management strategy/,
    );
  });

  test.each([
    { context_management: { edits: [{ type: CLEAR, keep: { type: "tool_uses", value: -1 } }] } },
    { context_management: { edits: [{ type: CLEAR, trigger: { type: "days", value: 1 } }] } },
    { context_management: { edits: [{ type: "clear_thinking_20251015", keep: "some" }] } },
    { context_management: { edits: Array.from({ length: 9 }, () => ({ type: CLEAR })) } },
    { context_management: "all" },
  ])("%j is refused, by its field", async (fields) => {
    const { status, text } = await post(fields);
    expect(status).toBe(400);
    expect(text).toContain("context_management");
  });

  test("cannot be combined with a summary", async () => {
    const { status, text } = await post({
      compaction: { type: "summarize" },
      context_management: { edits: [] },
    });
    expect(status).toBe(400);
    expect(JSON.parse(text).error.message).toBe(
      "compaction: cannot be combined with context_management",
    );
  });
});
