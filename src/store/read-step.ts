/** Parses a stored step and its messages. Every request of a loop repeats earlier steps, so they are cached by tenant. */
import { readSpan } from "../harmony/read-span.ts";
import { rememberByText } from "../harmony/text-memory.ts";
import { TEXT_BUDGET } from "../turn/prompt/text-budget.ts";
import type { ReadStep } from "../turn/sampled/put-back.ts";
import { readStoredStep } from "./stored-step.ts";

/** Undefined: the step was stored by another version of the gateway. */
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
    // A byte is a third of an id, which takes 12 bytes as a number, 11 in its piece, and its text.
    bytesOf: (stored) => 10 * stored.length + 2048,
  },
);
