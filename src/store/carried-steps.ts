/**
 * The list of encrypted entries in which a Chat Completions client carries the state of a running loop: analysis, calls that the
 * gateway ran, and for each call of the client the positions of both before it.
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
/** A separate purpose, so that no reasoning can be passed off as a result. */
export const CALL_PURPOSE = "builtin-call";
const STEP_PURPOSE = "loop-step";

/** The reasoning and positions before a call of the client. The calls at `places` are separate entries. */
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

/** Decrypts an entry. Never rejects: an unreadable entry is refused. */
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
  /** Reasoning by the id of the client's call. */
  readonly steps: ReadonlyMap<string, CallReasoning>;
  /** There are entries, and all of them are readable. */
  readonly complete: boolean;
}

/** Joins entries. Calls belong to the step that follows them. If any call of a step is missing, all of its calls are left out. */
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
 * Combines readable reasoning from the client with its carried entries. If the texts are equal, the carried ones are used, which
 * are split into messages; further text follows the last call. Otherwise the client's text counts, after the calls that the
 * gateway ran.
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
