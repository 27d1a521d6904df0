/** Tool loops over the Responses API, in which a test decides what the client sends back at each step. */
import type { OutputItem, ResponseObject } from "./schemas.ts";

const STEP_TOOL = {
  type: "function",
  name: "step",
  parameters: { type: "object", properties: { n: { type: "integer" } } },
};

/** How a client sends requests: plain or streamed. */
export type Ask = (body: object) => Promise<ResponseObject>;

export interface Carrier {
  /** Fields of every request. */
  readonly body?: object;
  /** Converts an output item for the next request's input; undefined: dropped. */
  readonly carry?: (item: OutputItem) => object | undefined;
  /** Send `previous_response_id` and only new items. */
  readonly byResponseId?: boolean;
}

export interface Held {
  readonly input: object[];
  readonly previous: string | undefined;
}

/**
 * Sends a request, answers every call with `ok`, and continues until there is an answer. Returns the state for the next
 * question.
 */
export async function holdLoop(
  ask: Ask,
  { body, carry = (item) => item, byResponseId = false }: Carrier,
  held: Held = { input: [], previous: undefined },
): Promise<Held> {
  let { previous } = held;
  let input: object[] = [...held.input, { role: "user", content: "Go." }];
  for (let step = 0; step < 6; step++) {
    const response = await ask({
      ...body,
      input,
      tools: [STEP_TOOL],
      ...(previous !== undefined && { previous_response_id: previous }),
    });
    const outputs = response.output.flatMap((item) =>
      item.type === "function_call"
        ? [{ type: "function_call_output", call_id: item.call_id, output: "ok" }]
        : [],
    );
    if (byResponseId) {
      previous = response.id;
      input = outputs;
    } else {
      input = [...input, ...response.output.flatMap((item) => carry(item) ?? []), ...outputs];
    }
    if (outputs.length === 0) return { input, previous };
  }
  throw new Error("the loop does not end");
}

export const CARRIERS: Readonly<Record<string, Carrier>> = {
  "the whole output, readable": {},
  "reasoning sealed, without its text": {
    body: { include: ["reasoning.encrypted_content"], store: false },
    carry: (item) => (item.type === "reasoning" ? { ...item, content: [] } : item),
  },
  "reasoning sealed, without its id": {
    body: { include: ["reasoning.encrypted_content"], store: false },
    carry: (item) =>
      item.type === "reasoning"
        ? { type: item.type, summary: [], encrypted_content: item.encrypted_content }
        : item,
  },
  "references to reasoning": {
    carry: (item) => (item.type === "reasoning" ? { type: "item_reference", id: item.id } : item),
  },
  "references to everything": {
    carry: ({ id }) => ({ type: "item_reference", id }),
  },
  "reasoning as a bare id": {
    carry: (item) =>
      item.type === "reasoning" ? { type: "reasoning", id: item.id, summary: [] } : item,
  },
  "the previous response": { byResponseId: true },
  "no reasoning": {
    body: { store: false },
    carry: (item) => (item.type === "reasoning" ? undefined : item),
  },
  "no reasoning, no ids and no phases": {
    body: { store: false },
    carry: (item) => {
      if (item.type === "reasoning") return undefined;
      const { type, ...rest } = item;
      const kept = Object.entries(rest).filter(([name]) => !FORGOTTEN.has(name));
      return { type, ...Object.fromEntries(kept) };
    },
  },
};

const FORGOTTEN = new Set(["id", "status", "phase"]);
