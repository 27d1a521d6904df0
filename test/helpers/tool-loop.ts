/** Tool loops over Chat Completions, with clients that remember a configurable part of replies. */
import { type ChatMessage, readChatMessage } from "./replies.ts";

/** Posts a request to a gateway. */
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

export interface LoopOptions {
  /** The part of a reply that the client sends back. Default: the whole message. */
  readonly remember?: (message: ChatMessage) => object;
  /** Members of every request other than messages and tools. */
  readonly body?: object;
  readonly headers?: Record<string, string>;
  /** The conversation so far; it grows. */
  readonly messages?: object[];
}

export interface LoopResult {
  /** The `x-harmony-cot` header of each reply. */
  readonly outcomes: (string | null)[];
  readonly replies: ChatMessage[];
  readonly messages: object[];
}

/** Sends requests and calls the tool until there is an answer. Requests go to the gateways in turn. */
export async function runLoop(
  posts: Post | Post[],
  options: LoopOptions = {},
): Promise<LoopResult> {
  const { remember = (reply) => reply, body, headers, messages = [] } = options;
  const gateways = [posts].flat();
  const outcomes: (string | null)[] = [];
  const replies: ChatMessage[] = [];
  messages.push({ role: "user", content: "Go." });
  for (let request = 0; request < 10; request++) {
    const post = gateways[request % gateways.length];
    if (post === undefined) throw new Error("there is no gateway to ask");
    const response = await post({ ...body, messages, tools: [STEP_TOOL] }, headers);
    outcomes.push(response.headers.get("x-harmony-cot"));
    const reply = await readChatMessage(response);
    replies.push(reply);
    messages.push(remember(reply));
    if (reply.tool_calls === undefined) return { outcomes, replies, messages };
    for (const { id } of reply.tool_calls) {
      messages.push({ role: "tool", tool_call_id: id, content: "ok" });
    }
  }
  throw new Error("the loop does not end");
}

/** The part of a reply that LangChain, `runTools` and other forgetful clients keep. */
export function forgetful({ role, content, tool_calls }: ChatMessage): object {
  return { role, content, ...(tool_calls && { tool_calls }) };
}

/** The analysis messages in a prompt, in order. */
export function analysisIn(prompt: string | undefined): string[] {
  const analysis = /<\|channel\|>analysis<\|message\|>(.*?)<\|end\|>/gs;
  return Array.from((prompt ?? "").matchAll(analysis), ([, text = ""]) => text);
}
