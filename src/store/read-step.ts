/** Reads a stored step, and the messages in it. Steps come back with every request of a loop, so they are cached by tenant. */
import { readSpan } from "../harmony/read-span.ts";
import { rememberByText } from "../harmony/text-memory.ts";
import { TEXT_BUDGET } from "../turn/prompt/text-budget.ts";
import type { ReadStep } from "../turn/sampled/put-back.ts";
import { readStoredStep } from "./stored-step.ts";

/** Undefined: another version of the gateway has stored it. */
export function readStep(stored: string, tenant: string): ReadStep | "damaged" | undefined {
  return remembered(stored, tenant).read;
}

const remembered = rememberByText(
  (stored): { readonly read: ReadStep | "damaged" | undefined } => {
    const step = readStoredStep(stored);
    if (step === "other-version") return { read: undefined };
    if (step === "damaged") return { read: "damaged" };
    return { read: { step, spans: step.spans.map(({ ids }) => readSpan(ids)) } };
  },
  {
    budget: TEXT_BUDGET,
    // Per byte a third of an id: 12 bytes as numbers, 11 in its piece, and its text.
    bytesOf: (stored) => 10 * stored.length + 2048,
  },
);
