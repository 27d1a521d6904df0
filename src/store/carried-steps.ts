/**
 * What a client carries for a running loop in one list of encrypted entries, as Chat Completions has it: analysis, calls that
 * the gateway ran, and for each call of the client's own where all of that stood before it.
 */
import * as z from "zod";
import { lazy } from "../lazy.ts";
import { type KeptCall, parseKeptCall } from "./kept-call.ts";
import type { ReasoningCipher, SealRefusal } from "./reasoning-cipher.ts";
import {
  type CallReasoning,
  type LoopStep,
  type PlacedCall,
  REASONING_SEPARATOR,
} from "./call-reasoning.ts";

export const REASONING_PURPOSE = "reasoning";
/** One of its own, so that no reasoning can be passed off as a result. */
export const CALL_PURPOSE = "builtin-call";
const STEP_PURPOSE = "loop-step";

/** Where everything before a call of the client's stood. The calls at `places` are entries of their own. */
export interface CarriedStep {
  /** The id of the client's call. */
  readonly id: string;
  readonly before: readonly (readonly string[])[];
  readonly places: readonly Pick<PlacedCall, "list" | "at">[];
}

export type CarriedEntry =
  | { readonly type: "reasoning"; readonly text: string }
  | { readonly type: "call"; readonly call: KeptCall | undefined }
  | { readonly type: "step"; readonly step: CarriedStep | undefined }
  | { readonly type: "refused"; readonly reason: SealRefusal };

export function sealCarriedStep(
  cipher: ReasoningCipher,
  tenant: string,
  step: CarriedStep,
): Promise<string> {
  return cipher.seal(JSON.stringify(step), { tenant, purpose: STEP_PURPOSE });
}

/** Never rejects: what cannot be read is refused. */
export async function openCarried(
  cipher: ReasoningCipher,
  tenant: string,
  sealed: string,
): Promise<CarriedEntry> {
  const reasoning = await cipher.open(sealed, { tenant, purpose: REASONING_PURPOSE });
  if (reasoning.opened) return { type: "reasoning", text: reasoning.text };
  if (reasoning.reason !== "not-authentic") return { type: "refused", reason: reasoning.reason };
  const call = await cipher.open(sealed, { tenant, purpose: CALL_PURPOSE });
  if (call.opened) return { type: "call", call: parseKeptCall(call.text) };
  const step = await cipher.open(sealed, { tenant, purpose: STEP_PURPOSE });
  if (step.opened) return { type: "step", step: parseStep(step.text) };
  return { type: "refused", reason: step.reason };
}

export interface Carried {
  readonly texts: readonly string[];
  /** By the id of the client's call. */
  readonly steps: ReadonlyMap<string, CallReasoning>;
  /** There are entries, and all of them could be read. */
  readonly complete: boolean;
}

/** Calls belong to the step that follows them. Of a step that lacks any of its calls, all are left out. */
export function joinCarried(entries: readonly CarriedEntry[]): Carried {
  const texts: string[] = [];
  const steps = new Map<string, CallReasoning>();
  let calls: (KeptCall | undefined)[] = [];
  let unread = 0;
  for (const entry of entries) {
    if (entry.type === "reasoning") texts.push(entry.text);
    else if (entry.type === "call") calls.push(entry.call);
    else if (entry.type === "refused" || entry.step === undefined) unread++;
    else {
      const { id, before, places } = entry.step;
      const tools = places.flatMap((place, index): PlacedCall[] => {
        const call = calls[index];
        return call === undefined ? [] : [{ ...place, call }];
      });
      const isWhole = calls.length === places.length && tools.length === places.length;
      if (!isWhole) unread++;
      steps.set(id, { before, after: [], ...(isWhole && tools.length > 0 && { tools }) });
      calls = [];
    }
  }
  return { texts, steps, complete: entries.length > 0 && unread === 0 };
}

export function ofCall(
  steps: ReadonlyMap<string, CallReasoning>,
  id: string | undefined,
): CallReasoning {
  return (id === undefined ? undefined : steps.get(id)) ?? { before: [], after: [] };
}

/**
 * The client has readable reasoning beside what it carries. If it is the same text, what it carries is used, which is split
 * into messages; text that follows stands behind the last call. Otherwise the client's text counts, behind the calls that
 * the gateway ran.
 */
export function confirmCarried(
  { sent, callIds }: LoopStep,
  steps: ReadonlyMap<string, CallReasoning>,
): CallReasoning[] {
  const carried = callIds.map((id) => ofCall(steps, id));
  const text = sent.join(REASONING_SEPARATOR);
  const known = carried.flatMap(({ before }) => before.flat()).join(REASONING_SEPARATOR);
  if (known.endsWith(text)) return carried;
  if (text.startsWith(known + REASONING_SEPARATOR)) {
    const after = [text.slice(known.length + REASONING_SEPARATOR.length)];
    return carried.map((each, at) => (at === carried.length - 1 ? { ...each, after } : each));
  }
  const tools = carried
    .flatMap((each) => each.tools ?? [])
    .map(({ call }) => ({ list: 0, at: 0, call }));
  return [{ before: [sent], after: [], tools }];
}

function parseStep(text: string): CarriedStep | undefined {
  try {
    return carriedStep().safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

const carriedStep = lazy(() =>
  z.object({
    id: z.string(),
    before: z.array(z.array(z.string())),
    places: z.array(z.object({ list: z.int().min(0), at: z.int().min(0) })),
  }),
);
