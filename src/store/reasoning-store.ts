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
import { consume, createPushStream } from "../streams/push-stream.ts";
import { createPause, createTextPause } from "../streams/slices.ts";
import type { TurnEvent } from "../turn/turn.ts";
import {
  beforeAllTexts,
  type CallReasoning,
  type KeptReasoning,
  keptReasoning,
  type LoopStep,
  REASONING_SEPARATOR,
  toTexts,
} from "./call-reasoning.ts";
import {
  CALL_PURPOSE,
  type Carried,
  type CarriedEntry,
  confirmCarried,
  joinCarried,
  ofCall,
  openCarried,
  REASONING_PURPOSE,
} from "./carried-steps.ts";
import { createEntries, type Entries, type EntryDeps } from "./entries.ts";
import { type KeepOptions, TurnReasoning } from "./keep-reasoning.ts";
import { type KeptCall, parseKeptCall } from "./kept-call.ts";
import type { OpenedSeal, ReasoningCipher, SealRefusal } from "./reasoning-cipher.ts";
import type { Store } from "./store.ts";
import { readStep } from "./stored-step.ts";
import type { ReadStep } from "../turn/sampled/put-back.ts";

export interface ReasoningStore {
  /**
   * Stores reasoning of the events when the following call ends, and delivers the call's `part-end` only after that. With `seal`,
   * reasoning parts end with their encrypted text.
   */
  keep(events: AsyncIterable<TurnEvent>, options: KeepOptions): AsyncIterable<TurnEvent>;
  /** Reads the stored data of the latest of these calls. One read for a whole loop. Never rejects. */
  readCalls(tenant: string, callIds: readonly string[]): Promise<StoredCalls>;
  /**
   * The reasoning for each step of a running loop, in the same order. Never rejects.
   *
   * @param stored the stored data of their calls. Absent: the data is read.
   */
  restore(
    tenant: string,
    steps: readonly LoopStep[],
    stored?: StoredCalls,
  ): Promise<RestoredStep[]>;
  /** Decrypts the `sealed` of a reasoning part that `keep` has made for this tenant. */
  open(tenant: string, sealed: string): Promise<OpenedSeal>;
  /** Decrypts a call that the gateway ran. Undefined: the text is not such a call of this tenant. */
  openCall(tenant: string, sealed: string): Promise<KeptCall | undefined>;
  /** Decrypts reasoning or a call. Undefined: the text is neither of this tenant. */
  openEither(tenant: string, sealed: string): Promise<string | KeptCall | undefined>;
}

export interface StoredCalls {
  /** Reasoning by call id. */
  readonly reasoning: ReadonlyMap<string, CallReasoning>;
  /** The steps that ended with these calls, as they were sampled. */
  readonly sampled: SampledSteps;
}

interface RestoredStep {
  /** One entry per call; a single entry in a step without calls. */
  readonly reasoning: readonly CallReasoning[];
  /** Undefined: there was no reasoning, and none is missing. */
  readonly outcome: ReasoningOutcome | undefined;
}

/** Source of the reasoning of a step; `lost` if any of it was not found. */
export type ReasoningOutcome = "sent" | "sealed" | "stored" | "lost";

interface ReasoningStoreDeps {
  /** Must never reject; see `createForgivingStore`. */
  readonly store: Store;
  readonly ttlSeconds: number;
  readonly cipher: ReasoningCipher;
  readonly onRestored: (outcome: ReasoningOutcome) => void;
  readonly onSealRefused: (reason: SealRefusal) => void;
  readonly onUnreadable: EntryDeps["onUnreadable"];
}

/** Maximum calls looked up for one request, latest first. */
const MAX_LOOKUPS = 1000;

/** Sampled steps by call id. */
export type SampledSteps = ReadonlyMap<string, ReadStep | "damaged">;

const NONE_STORED: StoredCalls = { reasoning: new Map(), sampled: new Map() };

const NO_REASONING: CallReasoning = { before: [], after: [] };

export function createReasoningStore(deps: ReasoningStoreDeps): ReasoningStore {
  return new CallReasoningStore(deps);
}

class CallReasoningStore implements ReasoningStore {
  readonly #deps: ReasoningStoreDeps;
  readonly #kept: Entries<KeptReasoning>;
  readonly #pause = createPause();

  constructor(deps: ReasoningStoreDeps) {
    this.#deps = deps;
    this.#kept = createEntries(REASONING_PURPOSE, [keptReasoning], deps);
  }

  keep(events: AsyncIterable<TurnEvent>, options: KeepOptions): AsyncIterable<TurnEvent> {
    const turn = new TurnReasoning(options, {
      cipher: this.#deps.cipher,
      write: (callId, kept) => this.#kept.set(kept, options.tenant, callId),
    });
    return createPushStream(async (consumer) => {
      try {
        await consume(events, turn.relayTo(consumer));
      } finally {
        await turn.leave();
      }
    });
  }

  async readCalls(tenant: string, callIds: readonly string[]): Promise<StoredCalls> {
    const ids = [...new Set(callIds)].slice(-MAX_LOOKUPS);
    if (ids.length === 0) return NONE_STORED;
    const reasoning = await this.#kept.getMany(tenant, ids);
    const sampled = new Map<string, ReadStep | "damaged">();
    const waitBefore = createTextPause(this.#pause);
    for (const [id, { sampled: step }] of reasoning) {
      if (step === undefined) continue;
      await waitBefore(step);
      const read = readStep(step, tenant);
      if (read !== undefined) sampled.set(id, read);
    }
    return { reasoning, sampled };
  }

  async restore(
    tenant: string,
    steps: readonly LoopStep[],
    stored?: StoredCalls,
  ): Promise<RestoredStep[]> {
    const ids = () => steps.flatMap(({ callIds }) => callIds.filter((id) => id !== undefined));
    const { reasoning } = stored ?? (await this.readCalls(tenant, ids()));
    const all = await Promise.all(
      steps.map((step) => this.#restoreStep(tenant, step, toKnown(step, reasoning))),
    );
    for (const { outcome } of all) if (outcome) this.#deps.onRestored(outcome);
    return all;
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

  /** @param known stored data of each call. */
  async #restoreStep(
    tenant: string,
    step: LoopStep,
    known: readonly (CallReasoning | undefined)[],
  ): Promise<RestoredStep> {
    if (step.sent.length > 0) return this.#confirmSent(tenant, step, known);

    const { texts: carried, steps, complete } = await this.#readCarried(tenant, step.sealed);
    if (complete && steps.size > 0) {
      return { reasoning: step.callIds.map((id) => ofCall(steps, id)), outcome: "sealed" };
    }
    if (complete) return { reasoning: [beforeAllTexts(carried)], outcome: "sealed" };

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
   * Confirms the client's text. If the stored reasoning has the same text, the stored copy is used: it is split into messages,
   * and complete even if the client has only the end. `openai`'s stream helper keeps only the last delta of an unknown field.
   */
  async #confirmSent(
    tenant: string,
    step: LoopStep,
    all: readonly (CallReasoning | undefined)[],
  ): Promise<RestoredStep> {
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

  /**
   * Reads the entries of a stateless client: analysis, calls that the gateway ran, and their positions before the client's calls.
   */
  async #readCarried(tenant: string, sealed: readonly string[]): Promise<Carried> {
    return joinCarried(await Promise.all(sealed.map((each) => this.#openCarried(tenant, each))));
  }

  async #openCarried(tenant: string, sealed: string): Promise<CarriedEntry> {
    const entry = await openCarried(this.#deps.cipher, tenant, sealed);
    if (entry.type === "refused") this.#deps.onSealRefused(entry.reason);
    return entry;
  }
}

function toKnown(
  { callIds }: LoopStep,
  stored: ReadonlyMap<string, CallReasoning>,
): (CallReasoning | undefined)[] {
  return callIds.map((id) => (id === undefined ? undefined : stored.get(id)));
}

const WORST_FIRST: readonly ReasoningOutcome[] = ["lost", "stored", "sealed", "sent"];

/** The worst outcome of a request's steps: the one furthest from `sent`. */
export function worstOutcome(
  steps: readonly Pick<RestoredStep, "outcome">[],
): ReasoningOutcome | undefined {
  return WORST_FIRST.find((outcome) => steps.some((step) => step.outcome === outcome));
}

/** Wraps the store so that it calls `note` with each text that was decrypted or found. */
export function watchReasoning(
  store: ReasoningStore,
  note: (tenant: string, text: string, source: "sealed" | "stored") => void,
): ReasoningStore {
  return {
    keep: (events, options) => store.keep(events, options),
    readCalls: (tenant, callIds) => store.readCalls(tenant, callIds),
    async restore(tenant, steps, stored) {
      const restored = await store.restore(tenant, steps, stored);
      for (const { reasoning, outcome } of restored) {
        if (outcome !== "sealed" && outcome !== "stored") continue;
        for (const text of toTexts(reasoning)) note(tenant, text, outcome);
      }
      return restored;
    },
    async open(tenant, sealed) {
      const opened = await store.open(tenant, sealed);
      if (opened.opened) note(tenant, opened.text, "sealed");
      return opened;
    },
    openCall: (tenant, sealed) => store.openCall(tenant, sealed),
    async openEither(tenant, sealed) {
      const opened = await store.openEither(tenant, sealed);
      if (typeof opened === "string") note(tenant, opened, "sealed");
      return opened;
    },
  };
}
