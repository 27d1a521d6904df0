/** The scripted model's output, as vLLM's `/v1/completions` streams it: an event per token, with its id. */
import { o200kHarmony, SPECIAL_TOKENS } from "../../../src/tokenizer/index.ts";
import type { TokenId } from "../../../src/tokenizer/index.ts";
import { MODEL } from "./requests.ts";
import { type Word, wordAt } from "./words.ts";

/** A token of the engine: structure, or a word that is chosen when it is sent. */
export type Planned = Word | "word";

/**
 * - `loop`: reasoning, text for the user, a tool call, as in a tool loop: 40, 40 and 20 per cent
 * - `answer`: the shortest honest turn, an answer without reasoning
 */
export type Shape = "loop" | "answer";

/** A completion with `tokens` words of text between its control tokens. */
export function planCompletion(shape: Shape, tokens: number): Planned[] {
  if (shape === "answer") return [...written("<|channel|>final<|message|>"), ...words(tokens)];
  const share = Math.floor(tokens * 0.4);
  return [
    ...written("<|channel|>analysis<|message|>"),
    ...words(share),
    ...written("<|end|><|start|>assistant<|channel|>commentary<|message|>"),
    ...words(share),
    ...written(
      '<|end|><|start|>assistant<|channel|>commentary to=functions.note <|constrain|>json<|message|>{"text":"',
    ),
    ...words(tokens - 2 * share),
    ...written('"}'),
  ];
}

/** The id that ends it. */
export function stopIdOf(shape: Shape): TokenId {
  return SPECIAL_TOKENS[shape === "answer" ? "<|return|>" : "<|call|>"];
}

/** Fills a planned completion with fixed words, if their age is not measured. */
export function fillIn(planned: readonly Planned[]): Word[] {
  // 7919 is prime to the number of words: no two tokens near each other are the same.
  return planned.map((token, index) => (token === "word" ? wordAt(index * 7919) : token));
}

const HEAD = `{"id":"cmpl-bench","object":"text_completion","created":1763700000,"model":"${MODEL}"`;

export function tokenEvent({ id, text }: Word): string {
  return (
    `data: ${HEAD},"choices":[{"index":0,"text":${JSON.stringify(text)},"logprobs":null,"finish_reason":null,` +
    `"stop_reason":null,"prompt_token_ids":null,"token_ids":[${id}]}]}\n\n`
  );
}

/** The last token, the usage, and the end of the stream: three events. */
export function closingEvents(stopId: TokenId, tokens: number): string[] {
  // The length of the prompt is omitted, because the script does not know it, and the gateway compares it with the
  // prompt sent.
  const usage = { completion_tokens: tokens };
  return [
    `data: ${HEAD},"choices":[{"index":0,"text":"","logprobs":null,"finish_reason":"stop",` +
      `"stop_reason":${stopId},"prompt_token_ids":null,"token_ids":[${stopId}]}]}\n\n`,
    `data: ${HEAD},"choices":[],"usage":${JSON.stringify(usage)}}\n\n`,
    "data: [DONE]\n\n",
  ];
}

function words(count: number): Planned[] {
  return Array.from({ length: count }, (): Planned => "word");
}

function written(text: string): Word[] {
  const special = new Map<string, TokenId>(Object.entries(SPECIAL_TOKENS));
  const tokenizer = o200kHarmony();
  return text.split(/(<\|\w+\|>)/).flatMap((part) => {
    const id = special.get(part);
    if (id !== undefined) return [{ id, text: part }];
    return tokenizer.encode(part).map((each) => ({ id: each, text: tokenizer.decode([each]) }));
  });
}
