/** The calls in a prompt and their results, as a model has to read them: a tool's results belong to its calls in their order. */
import { o200kHarmony, SPECIAL_TOKENS, type TokenId } from "../../../src/tokenizer/index.ts";

export interface PromptCall {
  /** `functions.get_weather` */
  readonly recipient: string;
  readonly arguments: string;
  readonly result?: string;
}

export function readPromptCalls(prompt: readonly TokenId[]): PromptCall[] {
  const calls: { recipient: string; arguments: string; result?: string }[] = [];
  for (const { header, body } of readMessages(prompt)) {
    const [, author = "", recipient] = /^([\w.-]+)(?:.*?\bto=([^\s<]+))?/s.exec(header) ?? [];
    if (author === "assistant") {
      if (recipient !== undefined) calls.push({ recipient, arguments: body });
      continue;
    }
    const open = calls.find((call) => call.recipient === author && call.result === undefined);
    if (open !== undefined) open.result = body;
  }
  return calls;
}

function readMessages(prompt: readonly TokenId[]): { header: string; body: string }[] {
  const starts = prompt.flatMap((id, at) => (id === SPECIAL_TOKENS["<|start|>"] ? [at] : []));
  return starts.map((start, index) => {
    const ids = prompt.slice(start + 1, starts[index + 1]);
    const middle = ids.indexOf(SPECIAL_TOKENS["<|message|>"]);
    if (middle === -1) return { header: textOf(ids), body: "" };
    return { header: textOf(ids.slice(0, middle)), body: textOf(ids.slice(middle + 1, -1)) };
  });
}

function textOf(ids: readonly TokenId[]): string {
  return o200kHarmony().decode([...ids]);
}
