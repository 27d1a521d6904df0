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
import { consume, createPushStream } from "../streams/push-stream.ts";
import type { TurnEvent } from "../turn/turn.ts";
import {
  beforeAllTexts,
  type CallReasoning,
  type LoopStep,
  REASONING_SEPARATOR,
  toTexts,
} from "./call-reasoning.ts";
import {
  type Carried,
  type CarriedEntry,
  CALL_PURPOSE,
  confirmCarried,
  joinCarried,
  ofCall,
  openCarried,
  REASONING_PURPOSE,
} from "./carried-steps.ts";
import { createEntries, type Entries, type EntryDeps } from "./entries.ts";
import { type KeepOptions, TurnReasoning } from "./keep-reasoning.ts";
import { type KeptCall, parseKeptCall } from "./kept-call.ts";
import { type KeptReasoning, keptReasoning } from "./kept-reasoning.ts";
import type { OpenedSeal, ReasoningCipher, SealRefusal } from "./reasoning-cipher.ts";
import type { Store } from "./store.ts";
import { readStep } from "./read-step.ts";
import { toStoredStep } from "./stored-step.ts";
import type { ReadStep } from "../turn/sampled/put-back.ts";

export interface ReasoningStore {
  /**
   * Passes the events on. Reasoning is stored when the following call begins, and the call's `part-end` is
   * delivered only after that. With `seal`, reasoning parts end with their encrypted text.
   */
  keep(events: AsyncIterable<TurnEvent>, options: KeepOptions): AsyncIterable<TurnEvent>;
  /** The reasoning for each step of a running loop, in the same order. Never rejects. */
  restore(tenant: string, steps: readonly LoopStep[]): Promise<RestoredStep[]>;
  /** By call id: the steps that ended with these calls, the latest of them, as they were sampled. Never rejects. */
  sampledSteps(tenant: string, callIds: readonly string[]): Promise<SampledSteps>;
  /** Decrypts the `sealed` of a reasoning part that `keep` has made for this tenant. */
  open(tenant: string, sealed: string): Promise<OpenedSeal>;
  /** The same for a call that the gateway ran. Undefined: it is not one of this tenant's. */
  openCall(tenant: string, sealed: string): Promise<KeptCall | undefined>;
  /** The same where either may stand. Undefined: neither. */
  openEither(tenant: string, sealed: string): Promise<string | KeptCall | undefined>;
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
  /** Must never reject; see `createForgivingStore`. */
  readonly store: Store;
  readonly ttlSeconds: number;
  readonly cipher: ReasoningCipher;
  readonly onRestored: (outcome: ReasoningOutcome) => void;
  readonly onSealRefused: (reason: SealRefusal) => void;
  readonly onUnreadable: EntryDeps["onUnreadable"];
}

/** Maximum calls looked up for one request, latest first. Cloudflare's KV allows no more per request. */
const MAX_LOOKUPS = 1000;

/** By call id. */
export type SampledSteps = ReadonlyMap<string, ReadStep | "damaged">;

const NO_STEPS: SampledSteps = new Map();

const sampledStep = z.lazy(() => z.string());

const NO_REASONING: CallReasoning = { before: [], after: [] };

export function createReasoningStore(deps: ReasoningStoreDeps): ReasoningStore {
  return new CallReasoningStore(deps);
}

class CallReasoningStore implements ReasoningStore {
  readonly #deps: ReasoningStoreDeps;
  readonly #kept: Entries<KeptReasoning>;
  readonly #sampled: Entries<string>;

  constructor(deps: ReasoningStoreDeps) {
    this.#deps = deps;
    this.#kept = createEntries(REASONING_PURPOSE, [keptReasoning], deps);
    this.#sampled = createEntries("sampled", [sampledStep], deps);
  }

  keep(events: AsyncIterable<TurnEvent>, options: KeepOptions): AsyncIterable<TurnEvent> {
    const turn = new TurnReasoning(options, {
      cipher: this.#deps.cipher,
      write: (callId, reasoning) => this.#kept.set(reasoning, options.tenant, callId),
      writeSampled: (callId, step) => this.#sampled.set(toStoredStep(step), options.tenant, callId),
    });
    return createPushStream((consumer) => consume(events, turn.relayTo(consumer)));
  }

  async restore(tenant: string, steps: readonly LoopStep[]): Promise<RestoredStep[]> {
    let lookups = MAX_LOOKUPS;
    const restored: Promise<RestoredStep>[] = [];
    for (const step of steps.toReversed()) {
      const mayLookUp = step.callIds.length <= lookups;
      if (mayLookUp) lookups -= step.callIds.length;
      restored.push(this.#restoreStep(tenant, step, mayLookUp));
    }
    const all = (await Promise.all(restored)).toReversed();
    for (const { outcome } of all) if (outcome) this.#deps.onRestored(outcome);
    return all;
  }

  async sampledSteps(tenant: string, callIds: readonly string[]): Promise<SampledSteps> {
    const ids = [...new Set(callIds)].slice(-MAX_LOOKUPS);
    if (ids.length === 0) return NO_STEPS;
    const stored = await Promise.all(ids.map((id) => this.#sampled.get(tenant, id)));
    return new Map(
      ids.flatMap((id, index) => {
        const step = stored[index];
        return step === undefined ? [] : [[id, readStep(step, tenant)] as const];
      }),
    );
  }

  async open(tenant: string, sealed: string): Promise<OpenedSeal> {
    const seal = await this.#deps.cipher.open(sealed, { tenant, purpose: REASONING_PURPOSE });
    if (!seal.opened) this.#deps.onSealRefused(seal.reason);
    return seal;
  }

  async openCall(tenant: string, sealed: string): Promise<KeptCall | undefined> {
    const seal = await this.#deps.cipher.open(sealed, { tenant, purpose: CALL_PURPOSE });
    if (!seal.opened) this.#deps.onSealRefused(seal.reason);
    return seal.opened ? parseKeptCall(seal.text) : undefined;
  }

  async openEither(tenant: string, sealed: string): Promise<string | KeptCall | undefined> {
    const opened = await this.#openCarried(tenant, sealed);
    if (opened.type === "reasoning") return opened.text;
    return opened.type === "call" ? opened.call : undefined;
  }

  async #restoreStep(tenant: string, step: LoopStep, mayLookUp: boolean): Promise<RestoredStep> {
    if (step.sent.length > 0) return this.#confirmSent(tenant, step, mayLookUp);

    const { texts: carried, steps, complete } = await this.#readCarried(tenant, step.sealed);
    if (complete && steps.size > 0) {
      return { reasoning: step.callIds.map((id) => ofCall(steps, id)), outcome: "sealed" };
    }
    if (complete) return { reasoning: [beforeAllTexts(carried)], outcome: "sealed" };

    const known = await this.#readAll(tenant, step, mayLookUp);
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
  async #confirmSent(tenant: string, step: LoopStep, mayLookUp: boolean): Promise<RestoredStep> {
    const all = await this.#readAll(tenant, step, mayLookUp);
    const known = all.filter((each) => each !== undefined);
    const sentText = step.sent.join(REASONING_SEPARATOR);
    const keptText = toTexts(known).join(REASONING_SEPARATOR);
    if (known.length === step.callIds.length && keptText.endsWith(sentText)) {
      return { reasoning: known, outcome: keptText === sentText ? "sent" : "stored" };
    }
    const { steps } = await this.#readCarried(tenant, step.sealed);
    if (steps.size === 0) return { reasoning: [beforeAllTexts(step.sent)], outcome: "sent" };
    return { reasoning: confirmCarried(step, steps), outcome: "sent" };
  }

  /** Reads what a stateless client carries: analysis, calls that the gateway ran, and where the client's calls stood. */
  async #readCarried(tenant: string, sealed: readonly string[]): Promise<Carried> {
    return joinCarried(await Promise.all(sealed.map((each) => this.#openCarried(tenant, each))));
  }

  async #openCarried(tenant: string, sealed: string): Promise<CarriedEntry> {
    const entry = await openCarried(this.#deps.cipher, tenant, sealed);
    if (entry.type === "refused") this.#deps.onSealRefused(entry.reason);
    return entry;
  }

  /** The stored reasoning of each call. */
  #readAll(
    tenant: string,
    { callIds }: LoopStep,
    mayLookUp: boolean,
  ): Promise<(CallReasoning | undefined)[]> {
    return Promise.all(
      callIds.map(async (id) =>
        mayLookUp && id !== undefined ? this.#kept.get(tenant, id) : undefined,
      ),
    );
  }
}

const WORST_FIRST: readonly ReasoningOutcome[] = ["lost", "stored", "sealed", "sent"];

/** The worst outcome of a request's steps: the one furthest from `sent`. */
export function worstOutcome(
  steps: readonly Pick<RestoredStep, "outcome">[],
): ReasoningOutcome | undefined {
  return WORST_FIRST.find((outcome) => steps.some((step) => step.outcome === outcome));
}
