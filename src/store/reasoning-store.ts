/**
 * Keeps chain of thought across the requests of a tool loop.
 *
 * gpt-oss needs its own reasoning back inside a tool loop, and most clients do not send it. So the reasoning
 * before each tool call is stored under the tenant and the call's id, or encrypted for the client to send
 * back, or both. When the call comes back in a history, its reasoning is restored from plain text the client
 * sent, else from encrypted reasoning, else from the store. A miss costs quality, never correctness.
 *
 * All APIs use it: `keep` for the events of a turn, `restore` (or, item by item, `open`) for its history.
 */
import * as z from "zod";
import { mapPushStream } from "../streams/push-stream.ts";
import type { BuiltinCallResult, Part, TurnEvent } from "../turn/turn.ts";
import {
  type Carried,
  CALL_PURPOSE,
  confirmCarried,
  joinCarried,
  ofCall,
  openCarried,
  REASONING_PURPOSE,
  sealCarriedStep,
} from "./carried-steps.ts";
import {
  beforeAllTexts,
  type CallReasoning,
  type LoopStep,
  type PlacedCall,
  REASONING_SEPARATOR,
  toTexts,
} from "./call-reasoning.ts";
import { createEntries } from "./entries.ts";
import { type KeptCall, parseKeptCall, readKeptCall, toKeptCall } from "./kept-call.ts";
import type { OpenedSeal, ReasoningCipher, SealRefusal } from "./reasoning-cipher.ts";
import type { Store } from "./store.ts";

export interface ReasoningStore {
  /**
   * Passes the events on. Reasoning is stored when the following call begins, and the call's `part-end` is
   * delivered only after that. With `seal`, reasoning parts end with their encrypted text.
   */
  keep(events: AsyncIterable<TurnEvent>, options: KeepOptions): AsyncIterable<TurnEvent>;
  /** The reasoning for each step of a running loop, in the same order. Never rejects. */
  restore(tenant: string, steps: readonly LoopStep[]): Promise<RestoredStep[]>;
  /** Decrypts the `sealed` of a reasoning part that `keep` has made for this tenant. */
  open(tenant: string, sealed: string): Promise<OpenedSeal>;
  /** The same for a call that the gateway ran. Undefined: it is not one of this tenant's. */
  openCall(tenant: string, sealed: string): Promise<KeptCall | undefined>;
  /** The same where either may stand. Undefined: neither. */
  openEither(tenant: string, sealed: string): Promise<string | KeptCall | undefined>;
}

export interface KeepOptions {
  readonly tenant: string;
  readonly seal: boolean;
  /**
   * Calls that the gateway ran are encrypted, and a call of the client's behind them begins with where all of that stands,
   * for clients that carry everything in one list.
   */
  readonly carry?: boolean;
}

export interface RestoredStep {
  /** One entry per call; a single entry in a step without calls. */
  readonly reasoning: readonly CallReasoning[];
  /** Undefined: there was no reasoning, and none is missing. */
  readonly outcome: ReasoningOutcome | undefined;
}

/** Where the reasoning of a step was found; `lost` if any of it was not. */
export type ReasoningOutcome = "sent" | "sealed" | "stored" | "lost";

export interface ReasoningStoreDeps {
  /** One that never rejects: see `createForgivingStore`. */
  readonly store: Store;
  readonly ttlSeconds: number;
  readonly cipher: ReasoningCipher;
  readonly onRestored: (outcome: ReasoningOutcome) => void;
  readonly onSealRefused: (reason: SealRefusal) => void;
  readonly onCorrupt: (kind: string) => void;
}

/** Maximum calls looked up for one request, latest first. Cloudflare's KV allows no more per request. */
const MAX_LOOKUPS = 1000;

const keptCall = z.custom<KeptCall>((value) => readKeptCall(value) !== undefined);

const keptReasoning = z.lazy(() =>
  z.object({
    before: z.array(z.array(z.string())),
    after: z.array(z.string()),
    tools: z.array(z.object({ list: z.int(), at: z.int(), call: keptCall })).optional(),
  }),
);

const NO_REASONING: CallReasoning = { before: [], after: [] };

export function createReasoningStore(deps: ReasoningStoreDeps): ReasoningStore {
  const { cipher } = deps;
  const kept = createEntries(REASONING_PURPOSE, keptReasoning, deps);

  return { keep, restore, open, openCall, openEither };

  function keep(
    events: AsyncIterable<TurnEvent>,
    { tenant, seal, carry = false }: KeepOptions,
  ): AsyncIterable<TurnEvent> {
    let part: Part | undefined;
    let text = "";
    let analysis: string[] = [];
    let beforeTexts: string[][] = [];
    let tools: PlacedCall[] = [];
    let lastCall:
      | { readonly id: string; readonly before: string[][]; readonly tools?: PlacedCall[] }
      | undefined;
    let writing: Promise<void> | undefined;
    let hasRun = false;

    function keepReasoning(event: TurnEvent): TurnEvent | Promise<TurnEvent> {
      switch (event.type) {
        case "part-start":
          part = event.part;
          text = "";
          if (part.kind === "preamble" || part.kind === "content") {
            beforeTexts.push(analysis);
            analysis = [];
          } else if (part.kind === "tool-call") {
            lastCall = {
              id: part.id,
              before: [...beforeTexts, analysis],
              ...(tools.length > 0 && { tools }),
            };
            const { id, ...placed } = lastCall;
            writing = write(tenant, id, { ...placed, after: [] });
            tools = [];
            beforeTexts = [];
            analysis = [];
            if (carry && hasRun) return sealStep(event, lastCall);
          }
          return event;
        case "part-delta":
          if (part?.kind === "reasoning") text += event.text;
          return event;
        case "part-end":
          if (part?.kind === "tool-call") return writing?.then(() => event) ?? event;
          if (part?.kind !== "reasoning" || text === "") return event;
          analysis.push(text);
          return seal ? sealInto(event, text) : event;
        case "start":
          return event;
        case "builtin-result":
          hasRun = true;
          tools = withCall(tools, {
            list: beforeTexts.length,
            at: analysis.length,
            call: toKeptCall(event),
          });
          return seal || carry ? sealCall(event) : event;
        case "end":
          return writeReasoningAfterCalls()?.then(() => event) ?? event;
        default:
          return event satisfies never;
      }
    }

    /** The model reasoned further after its last call. */
    function writeReasoningAfterCalls(): Promise<void> | undefined {
      const after = [...beforeTexts.flat(), ...analysis];
      if (lastCall === undefined || after.length === 0) return undefined;
      const { id, ...placed } = lastCall;
      return write(tenant, id, { ...placed, after });
    }

    async function sealCall(event: BuiltinCallResult): Promise<BuiltinCallResult> {
      const carried = JSON.stringify(toKeptCall(event));
      return { ...event, sealed: await cipher.seal(carried, { tenant, purpose: CALL_PURPOSE }) };
    }

    async function sealStep(
      event: Extract<TurnEvent, { type: "part-start" }>,
      step: { id: string; before: string[][]; tools?: PlacedCall[] },
    ): Promise<TurnEvent> {
      const { id, before, tools: ran = [] } = step;
      const sealed = await sealCarriedStep(cipher, tenant, {
        id,
        before,
        places: ran.map(({ list, at }) => ({ list, at })),
      });
      return { ...event, sealed };
    }

    async function sealInto(event: TurnEvent, reasoning: string) {
      const sealed = await cipher.seal(reasoning, { tenant, purpose: REASONING_PURPOSE });
      return { ...event, sealed };
    }

    return mapPushStream(events, keepReasoning);
  }

  /** Also stored for a call without reasoning, to distinguish it from one whose reasoning was lost. */
  async function write(
    tenant: string,
    callId: string,
    reasoning: z.input<typeof keptReasoning>,
  ): Promise<void> {
    await kept.set(reasoning, tenant, callId);
  }

  async function restore(tenant: string, steps: readonly LoopStep[]): Promise<RestoredStep[]> {
    let lookups = MAX_LOOKUPS;
    const restored: Promise<RestoredStep>[] = [];
    for (const step of steps.toReversed()) {
      const looked = step.callIds.length <= lookups;
      if (looked) lookups -= step.callIds.length;
      restored.push(restoreStep(tenant, step, looked));
    }
    const all = (await Promise.all(restored)).toReversed();
    for (const { outcome } of all) if (outcome) deps.onRestored(outcome);
    return all;
  }

  async function restoreStep(
    tenant: string,
    step: LoopStep,
    mayLookUp: boolean,
  ): Promise<RestoredStep> {
    if (step.sent.length > 0) return confirmSent(tenant, step, mayLookUp);

    const { texts: carried, steps, complete } = await readCarried(step.sealed, tenant);
    if (complete && steps.size > 0) {
      return { reasoning: step.callIds.map((id) => ofCall(steps, id)), outcome: "sealed" };
    }
    if (complete) return { reasoning: [beforeAllTexts(carried)], outcome: "sealed" };

    const known = await readAll(tenant, step, mayLookUp);
    const found = known.map((each) => each ?? NO_REASONING);
    if (known.length > 0 && !known.includes(undefined)) {
      const isEmpty = toTexts(found).length === 0 && found.every(({ tools }) => !tools?.length);
      return { reasoning: found, outcome: isEmpty ? undefined : "stored" };
    }
    if (known.length === 0 && step.sealed.length === 0)
      return { reasoning: [], outcome: undefined };
    return { reasoning: carried.length > 0 ? [beforeAllTexts(carried)] : found, outcome: "lost" };
  }

  /**
   * The client's text decides. If the stored reasoning is the same text, the stored copy is used: it is split
   * into messages, and complete even if the client has only the end. `openai`'s stream helper keeps only the
   * last delta of an unknown field.
   */
  async function confirmSent(
    tenant: string,
    step: LoopStep,
    mayLookUp: boolean,
  ): Promise<RestoredStep> {
    const known = (await readAll(tenant, step, mayLookUp)).filter((each) => each !== undefined);
    const sentText = step.sent.join(REASONING_SEPARATOR);
    const keptText = toTexts(known).join(REASONING_SEPARATOR);
    if (known.length === step.callIds.length && keptText.endsWith(sentText)) {
      return { reasoning: known, outcome: keptText === sentText ? "sent" : "stored" };
    }
    const { steps } = await readCarried(step.sealed, tenant);
    if (steps.size === 0) return { reasoning: [beforeAllTexts(step.sent)], outcome: "sent" };
    return { reasoning: confirmCarried(step, steps), outcome: "sent" };
  }

  /** What the client carries in one list: analysis, calls that the gateway ran, and where the client's calls stood. */
  async function readCarried(sealed: readonly string[], tenant: string): Promise<Carried> {
    const opened = await Promise.all(sealed.map((each) => openCarried(cipher, tenant, each)));
    for (const each of opened) if (each.type === "refused") deps.onSealRefused(each.reason);
    return joinCarried(opened);
  }

  /** The stored reasoning of each call. */
  async function readAll(
    tenant: string,
    { callIds }: LoopStep,
    mayLookUp: boolean,
  ): Promise<(CallReasoning | undefined)[]> {
    return Promise.all(
      callIds.map(async (id) => (mayLookUp && id !== undefined ? kept.get(tenant, id) : undefined)),
    );
  }

  async function open(tenant: string, sealed: string): Promise<OpenedSeal> {
    const seal = await cipher.open(sealed, { tenant, purpose: REASONING_PURPOSE });
    if (!seal.opened) deps.onSealRefused(seal.reason);
    return seal;
  }

  async function openCall(tenant: string, sealed: string): Promise<KeptCall | undefined> {
    const seal = await cipher.open(sealed, { tenant, purpose: CALL_PURPOSE });
    if (!seal.opened) deps.onSealRefused(seal.reason);
    return seal.opened ? parseKeptCall(seal.text) : undefined;
  }

  async function openEither(
    tenant: string,
    sealed: string,
  ): Promise<string | KeptCall | undefined> {
    const opened = await openCarried(cipher, tenant, sealed);
    if (opened.type === "refused") deps.onSealRefused(opened.reason);
    if (opened.type === "reasoning") return opened.text;
    return opened.type === "call" ? opened.call : undefined;
  }
}

/** The latest state of a tool is all that a later turn needs. */
function withCall(tools: readonly PlacedCall[], placed: PlacedCall): PlacedCall[] {
  const { state } = placed.call;
  const others = tools.map((each) =>
    state !== undefined && each.call.state?.tool === state.tool
      ? { ...each, call: { messages: each.call.messages } }
      : each,
  );
  return [...others, placed];
}

const WORST_FIRST: readonly ReasoningOutcome[] = ["lost", "stored", "sealed", "sent"];

/** The worst outcome of a request's steps: the one furthest from `sent`. */
export function worstOutcome(
  steps: readonly Pick<RestoredStep, "outcome">[],
): ReasoningOutcome | undefined {
  return WORST_FIRST.find((outcome) => steps.some((step) => step.outcome === outcome));
}
