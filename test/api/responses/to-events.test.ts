import { describe, expect, test } from "vitest";
import { createMemoryStore } from "../../../src/index.ts";
import { consume } from "./consumer.ts";
import { openAiEvent } from "./schemas.ts";
import { MODEL } from "./support.ts";
import {
  call,
  content,
  createTurnApp,
  end,
  FAILURE,
  part,
  preamble,
  reasoning,
  type TurnEvent,
} from "./turn-events.ts";

const { post, stream } = createTurnApp();

const START = { type: "start", promptTokens: 9 } as const;

/** The events between the first two and the terminal one, without their numbers. */
function between(events: readonly unknown[]): unknown[] {
  return events.slice(2, -1).map((event) => {
    const { sequence_number: _, ...rest } = openAiEvent.parse(event);
    return rest;
  });
}

describe("the parts of a turn become items in order", () => {
  test("reasoning, then the answer", async () => {
    const events = await stream([
      START,
      ...part(reasoning, "Let me ", "think."),
      ...part(content, "Hello!"),
      end("stop"),
    ]);
    const response = consume(events);
    const reasoningText = { type: "reasoning_text", text: "Let me think." };
    const text = { type: "output_text", text: "Hello!", annotations: [], logprobs: [] };
    const thinking = { item_id: "rs_0_0", output_index: 0, content_index: 0 };
    const saying = { item_id: "msg_0_1", output_index: 1, content_index: 0 };
    const items = {
      reasoning: {
        id: "rs_0_0",
        type: "reasoning",
        status: "completed",
        summary: [],
        content: [reasoningText],
      },
      message: {
        id: "msg_0_1",
        type: "message",
        status: "completed",
        role: "assistant",
        phase: "final_answer",
        content: [text],
      },
    };
    expect(between(events)).toEqual([
      {
        type: "response.output_item.added",
        output_index: 0,
        item: { ...items.reasoning, status: "in_progress", content: [] },
      },
      { type: "response.content_part.added", ...thinking, part: { ...reasoningText, text: "" } },
      { type: "response.reasoning_text.delta", ...thinking, delta: "Let me " },
      { type: "response.reasoning_text.delta", ...thinking, delta: "think." },
      { type: "response.reasoning_text.done", ...thinking, text: "Let me think." },
      { type: "response.content_part.done", ...thinking, part: reasoningText },
      { type: "response.output_item.done", output_index: 0, item: items.reasoning },
      {
        type: "response.output_item.added",
        output_index: 1,
        item: { ...items.message, status: "in_progress", content: [] },
      },
      { type: "response.content_part.added", ...saying, part: { ...text, text: "" } },
      { type: "response.output_text.delta", ...saying, delta: "Hello!", logprobs: [] },
      { type: "response.output_text.done", ...saying, text: "Hello!", logprobs: [] },
      { type: "response.content_part.done", ...saying, part: text },
      { type: "response.output_item.done", output_index: 1, item: items.message },
    ]);
    expect(response).toMatchObject({
      status: "completed",
      completed_at: 1_700_000_001,
      output: [items.reasoning, items.message],
      usage: {
        input_tokens: 10,
        input_tokens_details: { cached_tokens: 4, cache_write_tokens: 0 },
        output_tokens: 7,
        output_tokens_details: { reasoning_tokens: 3 },
        total_tokens: 17,
      },
    });
  });

  test("a preamble, then a call", async () => {
    const events = await stream([
      START,
      ...part(preamble, "One moment."),
      ...part(call("get_weather"), '{"city":', '"Oslo"}'),
      end("tool-calls"),
    ]);
    const place = { item_id: "fc_0_1", output_index: 1 };
    const item = {
      id: "fc_0_1",
      type: "function_call",
      status: "completed",
      call_id: "call_1",
      name: "get_weather",
      arguments: '{"city":"Oslo"}',
    };
    expect(between(events).slice(-5)).toEqual([
      {
        type: "response.output_item.added",
        output_index: 1,
        item: { ...item, status: "in_progress", arguments: "" },
      },
      { type: "response.function_call_arguments.delta", ...place, delta: '{"city":' },
      { type: "response.function_call_arguments.delta", ...place, delta: '"Oslo"}' },
      {
        type: "response.function_call_arguments.done",
        ...place,
        name: "get_weather",
        arguments: '{"city":"Oslo"}',
      },
      { type: "response.output_item.done", output_index: 1, item },
    ]);
    expect(consume(events)).toMatchObject({
      status: "completed",
      output: [{ type: "message", phase: "commentary" }, item],
    });
  });

  test("a part without text is an empty item", async () => {
    const events = await stream([START, ...part(content), end("stop")]);
    expect(consume(events).output).toMatchObject([{ content: [{ text: "" }] }]);
  });

  test("a turn without parts is a response without output", async () => {
    expect(consume(await stream([START, end("stop")]))).toMatchObject({
      status: "completed",
      output: [],
    });
  });

  test("log probabilities come with their deltas and again with the text", async () => {
    const logprobs = [{ id: 13_225, logprob: -0.5, top: [{ id: 13_225, logprob: -0.5 }] }];
    const shown = [
      {
        token: "Hello",
        bytes: [72, 101, 108, 108, 111],
        logprob: -0.5,
        top_logprobs: [{ token: "Hello", bytes: [72, 101, 108, 108, 111], logprob: -0.5 }],
      },
    ];
    const events = await stream([
      START,
      { type: "part-start", part: content },
      { type: "part-delta", text: "Hello", logprobs },
      { type: "part-delta", text: "!" },
      { type: "part-end" },
      end("stop"),
    ]);
    expect(between(events)).toContainEqual({
      type: "response.output_text.delta",
      item_id: "msg_0_0",
      output_index: 0,
      content_index: 0,
      delta: "Hello",
      logprobs: shown,
    });
    expect(consume(events).output).toMatchObject([
      { content: [{ text: "Hello!", logprobs: shown }] },
    ]);
  });
});

describe("a turn that is cut", () => {
  test.each([
    ["in its answer", part(content, "Hel"), { type: "message", content: [{ text: "Hel" }] }],
    ["in reasoning", part(reasoning, "Hm"), { type: "reasoning", content: [{ text: "Hm" }] }],
    ["in a call", part(call("f"), '{"a'), { type: "function_call", arguments: '{"a' }],
  ])("%s closes the item as incomplete, and the response", async (_, events, item) => {
    const response = consume(
      await stream([START, ...part(preamble, "First."), ...events, end("length")]),
    );
    expect(response).toMatchObject({
      status: "incomplete",
      incomplete_details: { reason: "max_output_tokens" },
      completed_at: null,
      output: [
        { type: "message", status: "completed" },
        { ...item, status: "incomplete" },
      ],
    });
  });
});

/** Fails after these events. */
function* failing(events: readonly TurnEvent[]): Generator<TurnEvent> {
  yield* events;
  throw FAILURE;
}

describe("a turn that fails", () => {
  test("in the middle of an item, which stays open", async () => {
    const events = await stream(
      failing([
        START,
        ...part(reasoning, "Hm."),
        { type: "part-start", part: content },
        { type: "part-delta", text: "Hel" },
      ]),
    );
    expect(events.at(-2)).toEqual({
      type: "error",
      sequence_number: 11,
      code: "server_error",
      message: "The engine failed.",
      param: null,
      error: {
        type: "server_error",
        code: "server_error",
        message: "The engine failed.",
        param: null,
      },
    });
    expect(consume(events)).toMatchObject({
      status: "failed",
      error: { code: "server_error", message: "The engine failed." },
      output: [{ type: "reasoning", status: "completed" }],
      usage: null,
    });
    expect(events.map((event) => openAiEvent.parse(event).type)).not.toContain(
      "response.output_text.done",
    );
  });

  test("before it began, still in order", async () => {
    const background = { background: true, store: true };
    const events = await stream(failing([]), background);
    expect(events.map(({ type }) => type)).toEqual([
      "response.created",
      "response.queued",
      "response.in_progress",
      "error",
      "response.failed",
    ]);
    expect(consume(events).status).toBe("failed");
    // Without a stream that has begun, the failure is the reply.
    expect((await post(failing([]), { stream: true })).status).toBe(502);
  });

  test("by violating a constraint: an invalid call is never marked as done", async () => {
    const events = await stream([
      START,
      ...part(call("f"), "{}"),
      end("error", { failure: { kind: "invalid_tool_call", message: "Wrong arguments." } }),
    ]);
    expect(consume(events)).toMatchObject({
      status: "failed",
      error: { code: "model_error", message: "Wrong arguments." },
      output: [],
      usage: { total_tokens: 17 },
    });
  });
});

describe("options", () => {
  test("the Open Responses schema's names for reasoning", async () => {
    const turn = [START, ...part(reasoning, "Hm."), end("stop")];
    const events = await stream(turn, { model: `${MODEL}:open-responses` });
    expect(() => consume(events)).toThrow("Invalid discriminator value");
    expect(consume(events, "reasoning").output).toMatchObject([{ content: [{ text: "Hm." }] }]);
  });

  test("reasoning that is not shown leaves an empty item, sealed if it can be", async () => {
    const turn: TurnEvent[] = [
      START,
      { type: "part-start", part: reasoning },
      { type: "part-delta", text: "Secret." },
      { type: "part-end", sealed: "c2VhbGVk" },
      end("stop"),
    ];
    const settings = { reasoningPolicy: "none" };
    const events = await createTurnApp({ settings }).stream(turn);
    const item = {
      id: "rs_0_0",
      type: "reasoning",
      status: "completed",
      summary: [],
      content: [],
      encrypted_content: "c2VhbGVk",
    };
    const { encrypted_content: _, ...empty } = item;
    expect(between(events)).toEqual([
      {
        type: "response.output_item.added",
        output_index: 0,
        item: { ...empty, status: "in_progress" },
      },
      { type: "response.output_item.done", output_index: 0, item },
    ]);
    expect(JSON.stringify(events)).not.toContain("Secret");
  });

  test("reasoning that is not shown is stored with its text", async () => {
    const store = createMemoryStore({ maxEntries: 10, maxBytes: 1e6, now: Date.now });
    const turn = [START, ...part(reasoning, "Secret."), ...part(content, "Hi."), end("stop")];
    const settings = { reasoningPolicy: "none" };
    await createTurnApp({ settings, store }).post(turn, { store: true });
    const shown = await createTurnApp({ store }).get();
    expect(await shown.json()).toMatchObject({ output: [{ content: [{ text: "Secret." }] }, {}] });
  });

  test("a queued response is announced first", async () => {
    const background = { background: true, store: true };
    const events = await stream([START, ...part(content, "Hi."), end("stop")], background);
    expect(events.map(({ type }) => type).slice(0, 3)).toEqual([
      "response.created",
      "response.queued",
      "response.in_progress",
    ]);
    expect(events[0]).toMatchObject({ response: { status: "queued" } });
    expect(consume(events).status).toBe("completed");
  });
});
