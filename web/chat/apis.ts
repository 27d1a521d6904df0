/** The APIs for conversations. */
import type { ApiName, Composed } from "../../src/snippets/composed.ts";

interface PageApi {
  readonly label: string;
  /** Options that this API lacks, with the consequence of each. */
  readonly lacks: Readonly<Partial<Record<keyof Composed["options"], string>>>;
}

export const APIS: Readonly<Record<ApiName, PageApi>> = {
  chat: { label: "Chat Completions", lacks: {} },
  responses: {
    label: "Responses",
    lacks: {
      stop: "Responses has no stop strings: they are not sent.",
      seed: "Responses has no seed: it is not sent.",
      budget: "Responses has no reasoning budget: it is not sent.",
    },
  },
  messages: {
    label: "Messages",
    lacks: { seed: "Messages has no seed: it is not sent." },
  },
};

export function isApiName(value: string): value is ApiName {
  return Object.hasOwn(APIS, value);
}

/** Sentences about parts of this conversation that the API cannot express. */
export function lackingSentences(
  api: ApiName,
  { options }: Composed,
  gatewayTools: readonly string[] = [],
): string[] {
  const sentences = Object.entries(APIS[api].lacks).flatMap(([name, sentence]) =>
    Object.hasOwn(options, name) ? [sentence] : [],
  );
  if (api === "messages" && options.format?.type === "object") {
    sentences.push("Messages has no JSON format without a schema: it is not sent.");
  }
  if (api === "messages" && gatewayTools.some((name) => name.startsWith("mcp:"))) {
    sentences.push("Messages has no MCP servers: they are not sent.");
  }
  return sentences;
}
