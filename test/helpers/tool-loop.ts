/** Tool loops over Chat Completions, held by clients that remember as much as a test lets them. */
import { z } from "zod";

/** How a client calls a gateway. */
export type Post = (body: object, headers?: Record<string, string>) => Promise<Response>;

/** Three steps and an answer. The analysis messages are `<name> 1` to `<name> 4`. */
export function loopScripts(name: string): string[] {
  const call = (step: number) =>
    `<|channel|>analysis<|message|>${name} ${step}<|end|><|start|>assistant` +
    `<|channel|>commentary to=functions.step <|constrain|>json<|message|>{"n":${step}}<|call|>`;
  return [
    call(1),
    call(2),
    call(3),
    `<|channel|>analysis<|message|>${name} 4<|end|><|start|>assistant` +
      `<|channel|>final<|message|>${name} done<|return|>`,
  ];
}

export const STEP_TOOL = {
  type: "function",
  function: {
    name: "step",
    parameters: { type: "object", properties: { n: { type: "integer" } } },
  },
};

const detail = z.looseObject({ type: z.string(), index: z.number(), text: z.string().optional() });

const toolCall = z.looseObject({
  id: z.string(),
  function: z.object({ name: z.string(), arguments: z.string() }),
});

const message = z.looseObject({
  role: z.literal("assistant"),
  content: z.string().nullable(),
  reasoning: z.string().nullish(),
  reasoning_details: z.array(detail).optional(),
  tool_calls: z.array(toolCall).optional(),
});

export type ReplyMessage = z.infer<typeof message>;

const completion = z.object({
  choices: z.tuple([z.object({ finish_reason: z.string(), message })]),
});

const chunk = z.object({
  choices: z.array(
    z.object({
      delta: z.object({
        content: z.string().nullish(),
        reasoning: z.string().optional(),
        reasoning_details: z.array(detail).optional(),
        tool_calls: z
          .array(
            z.object({
              index: z.number(),
              id: z.string().optional(),
              function: z.object({ name: z.string().optional(), arguments: z.string() }),
            }),
          )
          .optional(),
      }),
    }),
  ),
});

/** The message of a reply, plain or streamed: deltas are put together as OpenRouter's clients do. */
export async function readReply(response: Response): Promise<ReplyMessage> {
  if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`);
  if (response.headers.get("content-type")?.startsWith("application/json")) {
    return completion.parse(await response.json()).choices[0].message;
  }
  const details = new Map<number, z.infer<typeof detail>>();
  const calls = new Map<number, z.infer<typeof toolCall>>();
  let content = "";
  let reasoning = "";
  for (const delta of toDeltas(await response.text())) {
    content += delta.content ?? "";
    reasoning += delta.reasoning ?? "";
    for (const each of delta.reasoning_details ?? []) {
      const { text } = details.get(each.index) ?? {};
      details.set(each.index, {
        ...details.get(each.index),
        ...each,
        ...(each.text !== undefined && { text: (text ?? "") + each.text }),
      });
    }
    for (const { index, id = "", function: part } of delta.tool_calls ?? []) {
      const call = calls.get(index) ?? {
        id,
        type: "function",
        function: { name: part.name ?? "", arguments: "" },
      };
      call.function.arguments += part.arguments;
      calls.set(index, call);
    }
  }
  return {
    role: "assistant",
    content: content === "" && calls.size > 0 ? null : content,
    reasoning: reasoning === "" ? null : reasoning,
    ...(details.size > 0 && { reasoning_details: [...details.values()] }),
    ...(calls.size > 0 && { tool_calls: [...calls.values()] }),
  };
}

function toDeltas(text: string) {
  return text
    .split("\n\n")
    .filter((frame) => frame.startsWith("data: {"))
    .flatMap((frame) => chunk.parse(JSON.parse(frame.slice("data: ".length))).choices)
    .map(({ delta }) => delta);
}

export interface LoopOptions {
  /** What of a reply the client sends back. Default: everything. */
  readonly remember?: (message: ReplyMessage) => object;
  /** Members of every request other than messages and tools. */
  readonly body?: object;
  readonly headers?: Record<string, string>;
  /** The conversation so far; it grows. */
  readonly messages?: object[];
}

export interface LoopResult {
  /** The `x-harmony-cot` header of each reply. */
  readonly outcomes: (string | null)[];
  readonly replies: ReplyMessage[];
  readonly messages: object[];
}

/** Asks, calls the tool and asks again until there is an answer. Requests go to the gateways in turn. */
export async function runLoop(
  posts: Post | Post[],
  options: LoopOptions = {},
): Promise<LoopResult> {
  const { remember = (reply) => reply, body, headers, messages = [] } = options;
  const gateways = [posts].flat();
  const outcomes: (string | null)[] = [];
  const replies: ReplyMessage[] = [];
  messages.push({ role: "user", content: "Go." });
  for (let request = 0; request < 10; request++) {
    const post = gateways[request % gateways.length];
    if (post === undefined) throw new Error("there is no gateway to ask");
    const response = await post({ ...body, messages, tools: [STEP_TOOL] }, headers);
    outcomes.push(response.headers.get("x-harmony-cot"));
    const reply = await readReply(response);
    replies.push(reply);
    messages.push(remember(reply));
    if (reply.tool_calls === undefined) return { outcomes, replies, messages };
    for (const { id } of reply.tool_calls) {
      messages.push({ role: "tool", tool_call_id: id, content: "ok" });
    }
  }
  throw new Error("the loop does not end");
}

/** What LangChain, `runTools` and other forgetful clients keep of a reply. */
export function forgetful({ role, content, tool_calls }: ReplyMessage): object {
  return { role, content, ...(tool_calls && { tool_calls }) };
}

/** The analysis messages in a prompt, in order. */
export function analysisIn(prompt: string | undefined): string[] {
  const analysis = /<\|channel\|>analysis<\|message\|>(.*?)<\|end\|>/gs;
  return Array.from((prompt ?? "").matchAll(analysis), ([, text = ""]) => text);
}
