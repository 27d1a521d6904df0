/** Common parts of clients with message types of their own. */
import type { Composed } from "../composed.ts";

/** An expression, among values that are written as literals. */
export class Code {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** The value of JSON, or the text if it is not JSON. */
export function parseOr(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    return text;
  }
}

const NAMES: Readonly<Record<keyof Composed["options"], string>> = {
  effort: "the reasoning effort",
  budget: "the reasoning budget",
  temperature: "the temperature",
  topP: "top p",
  maxTokens: "the limit of tokens",
  stop: "stop strings",
  seed: "the seed",
  format: "the response format",
  toolChoice: "the tool choice",
  parallelCalls: "the choice of parallel calls",
};

/** Features that a client never sends, even if its code sets them. */
export interface Lacks {
  readonly options?: readonly (keyof Composed["options"])[];
  /** `strict` of functions. */
  readonly strict?: true;
  /** Reasoning: all of it, or the reasoning with or without encrypted content. */
  readonly reasoning?: "all" | "sealed" | "unsealed";
}

/** @returns undefined if the client sends everything */
export function toNote(composed: Composed, lacks: Lacks = {}): string | undefined {
  const { options, hosted = [], tools } = composed;
  const missing = [
    ...(lacks.options ?? [])
      .filter((name) => options[name] !== undefined)
      .map((name) => NAMES[name]),
    ...(lacks.strict && tools.some(({ strict }) => strict) ? ["strict"] : []),
    ...(hosted.length > 0 ? ["tools that the gateway runs"] : []),
  ];
  const sentences = [
    ...(missing.length === 0 ? [] : [`This client does not send ${missing.join(", ")}.`]),
    ...(losesReasoning(composed, lacks) ? [REASONING] : []),
  ];
  return sentences.length === 0 ? undefined : sentences.join(" ");
}

const REASONING =
  "It does not send reasoning back as it is here. The gateway restores it inside a tool loop.";

function losesReasoning({ messages }: Composed, { reasoning }: Lacks): boolean {
  if (reasoning === undefined) return false;
  const parts = messages.flatMap((message) => (message.role === "user" ? [] : message.parts));
  return parts.some(
    (part) =>
      part.type === "reasoning" &&
      (reasoning === "all" || (part.sealed === undefined) === (reasoning === "unsealed")),
  );
}
