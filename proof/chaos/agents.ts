/**
 * Agents in small: loops of tool calls over streamed Responses and Messages. Half of them send everything back, with their
 * thoughts; the others rely on the gateway's store.
 */
import * as z from "zod";
import { findStreamProblem } from "../fuzz/check-response.ts";
import { type Asking, type Ended, PATIENCE_MS, promptOf, refusal, request } from "./asking.ts";
import { answerText, STEP_TOOL } from "./engine.ts";
import { parseEvents } from "../../test/helpers/replies.ts";

export const AGENT_KINDS = ["responses-agent", "messages-agent"] as const;

/** Calls of a loop. */
const STEPS = 3;

interface Step {
  /** Arguments of the calls, as the client has collected them. */
  readonly calls: readonly { readonly id: string; readonly arguments: string }[];
  readonly text: string;
  readonly error: string | undefined;
}

/** Sends the next request of a loop. Returns the stream's text, or how the request was refused. */
type Post = (body: object) => Promise<string | Ended>;

const SCHEMA = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };

const responseEvent = z.looseObject({
  type: z.string(),
  response: z.looseObject({ id: z.string(), output: z.array(z.looseObject({})) }).optional(),
});

const outputItem = z.looseObject({
  type: z.string(),
  call_id: z.string().optional(),
  arguments: z.string().optional(),
  content: z.array(z.looseObject({ text: z.string().optional() })).optional(),
});

export function runResponsesAgent(asking: Asking): Promise<Ended> {
  const remembers = asking.number % 2 === 0;
  let input: object[] = [{ role: "user", content: taskOf(asking) }];
  let previous: string | undefined;
  const post = toPost(asking, "/v1/responses");
  return runLoop(asking, async (results) => {
    const outputs = results.map(({ id, output }) => ({
      type: "function_call_output",
      call_id: id,
      output,
    }));
    input = previous === undefined ? [...input, ...outputs] : outputs;
    const text = await post({
      input,
      tools: [{ type: "function", name: STEP_TOOL, parameters: SCHEMA }],
      store: !remembers,
      ...(remembers && { include: ["reasoning.encrypted_content"] }),
      ...(previous !== undefined && { previous_response_id: previous }),
    });
    if (typeof text !== "string") return text;
    const last = eventsOf(text, responseEvent).at(-1);
    if (last?.type !== "response.completed" || last.response === undefined) {
      return { calls: [], text: "", error: text.slice(-300) };
    }
    const { id, output } = last.response;
    if (remembers) input = [...input, ...output];
    else previous = id;
    const items = output.map((item) => outputItem.parse(item));
    return {
      calls: items
        .filter(({ type }) => type === "function_call")
        .map(({ call_id: call = "", arguments: given = "" }) => ({ id: call, arguments: given })),
      text: items
        .filter(({ type }) => type === "message")
        .flatMap(({ content = [] }) => content.map(({ text: part = "" }) => part))
        .join(""),
      error: undefined,
    };
  });
}

const messageEvent = z.looseObject({
  type: z.string(),
  index: z.number().optional(),
  content_block: z.looseObject({ type: z.string() }).optional(),
  delta: z
    .looseObject({
      text: z.string().optional(),
      thinking: z.string().optional(),
      signature: z.string().optional(),
      partial_json: z.string().optional(),
    })
    .optional(),
});

interface Block {
  readonly start: Readonly<Record<string, unknown>> & { readonly type: string };
  text: string;
  thinking: string;
  signature: string;
  json: string;
}

export function runMessagesAgent(asking: Asking): Promise<Ended> {
  const remembers = asking.number % 2 === 0;
  const messages: object[] = [{ role: "user", content: taskOf(asking) }];
  const post = toPost(asking, "/v1/messages");
  return runLoop(asking, async (results) => {
    if (results.length > 0) {
      const content = results.map(({ id, output }) => ({
        type: "tool_result",
        tool_use_id: id,
        content: output,
      }));
      messages.push({ role: "user", content });
    }
    const text = await post({
      max_tokens: 4096,
      messages,
      tools: [{ name: STEP_TOOL, input_schema: SCHEMA }],
    });
    if (typeof text !== "string") return text;
    const events = eventsOf(text, messageEvent);
    if (events.at(-1)?.type !== "message_stop") {
      return { calls: [], text: "", error: text.slice(-300) };
    }
    const blocks = collectBlocks(events);
    const kept = blocks.filter(({ start }) => remembers || start.type !== "thinking");
    messages.push({ role: "assistant", content: kept.map((block) => toContent(block)) });
    return {
      calls: blocks
        .filter(({ start }) => start.type === "tool_use")
        .map(({ start, json }) => ({ id: String(start["id"]), arguments: json })),
      text: blocks.map((block) => block.text).join(""),
      error: undefined,
    };
  });
}

function collectBlocks(events: readonly z.infer<typeof messageEvent>[]): Block[] {
  const blocks: Block[] = [];
  for (const { index = 0, content_block: start, delta } of events) {
    if (start !== undefined) {
      blocks[index] = { start, text: "", thinking: "", signature: "", json: "" };
    }
    const block = blocks[index];
    if (block === undefined || delta === undefined) continue;
    block.text += delta.text ?? "";
    block.thinking += delta.thinking ?? "";
    block.signature += delta.signature ?? "";
    block.json += delta.partial_json ?? "";
  }
  return blocks;
}

function toContent({ start, text, thinking, signature, json }: Block): object {
  switch (start.type) {
    case "thinking":
      return { ...start, thinking, signature };
    case "tool_use":
      return { ...start, input: JSON.parse(json) as unknown };
    case "text":
      return { ...start, text };
    default:
      return start;
  }
}

function taskOf(asking: Asking): string {
  return `steps ${STEPS} ${promptOf(asking)}`;
}

function toPost(asking: Asking, path: string): Post {
  return async (body) => {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const asked = request(asking, { ...body, stream: true }, signal);
    const response = await fetch(asking.origin + path, asked);
    const text = await response.text();
    return response.status === 200 ? text : refusal(response.status, text);
  };
}

function eventsOf<T>(text: string, schema: z.ZodType<T>): T[] {
  const problem = findStreamProblem(text);
  if (problem !== undefined) throw new Error(problem);
  return parseEvents(text, schema);
}

/** Every step must be one call with the next number; the last one, the complete answer. */
async function runLoop(
  asking: Asking,
  next: (results: readonly { id: string; output: string }[]) => Promise<Step | Ended>,
): Promise<Ended> {
  let results: { id: string; output: string }[] = [];
  for (let done = 0; done <= STEPS; done++) {
    const step = await next(results);
    if ("end" in step) return step;
    const { calls, text, error } = step;
    if (error !== undefined) return { end: "reported", status: 200, detail: error };
    const expected = done < STEPS ? [JSON.stringify({ n: done + 1 })] : [];
    const isExpected =
      calls.map((call) => call.arguments).join() === expected.join() &&
      text === (done < STEPS ? "" : answerText(asking.words));
    if (!isExpected) {
      return { end: "defect", status: 200, detail: `step ${done}: ${JSON.stringify(step)}` };
    }
    results = calls.map(({ id }) => ({ id, output: `step ${done + 1} taken` }));
  }
  return { end: "complete", status: 200, detail: "" };
}
