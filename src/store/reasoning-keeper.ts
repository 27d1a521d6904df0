/**
 * Chain of thought across the requests of a tool loop.
 *
 * gpt-oss works on from its own thoughts, and most clients do not send them back. So while a turn is running, what
 * was thought before each tool call is kept under the tenant and the call's id, or sealed for the client to carry, or
 * both; and when the call comes back in a history, the thoughts are found again: as sent, else sealed, else kept. A
 * miss costs quality, never correctness.
 *
 * Both APIs use it: `keep` on the way out, `restore` (or, item by item, `open`) on the way in.
 */
import { z } from "zod";
import type { Part, TurnEvent } from "../turn/turn.ts";
import type { Seals, SealRefusal } from "./seals.ts";
import { type Store, storeKey } from "./store.ts";

export interface ReasoningKeeper {
  /**
   * The same events. Thoughts are kept when the call they led to begins, and its `part-end` is given only once they
   * are; reasoning parts end with their text sealed if `seal` is set.
   */
  keep(events: AsyncIterable<TurnEvent>, options: KeepOptions): AsyncIterable<TurnEvent>;
  /** What the model is to be given back for steps of a running loop, in the same order. Never rejects. */
  restore(tenant: string, steps: readonly LoopStep[]): Promise<RestoredStep[]>;
  /** What a `sealed` of `keep` holds, unless it is not ours to open. */
  open(tenant: string, sealed: string): Promise<OpenedReasoning>;
}

export interface KeepOptions {
  readonly tenant: string;
  readonly seal: boolean;
}

/** What the model wrote between two tool results, as a history shows it: thoughts, then calls. */
export interface LoopStep {
  /** Thoughts the client sent readable. If there are any, nothing else is looked at. */
  readonly sent: readonly string[];
  /** Thoughts the client carried sealed. What does not open is ignored. */
  readonly sealed: readonly string[];
  /** Undefined: a call without an id, as in the legacy form. */
  readonly callIds: readonly (string | undefined)[];
}

export interface RestoredStep {
  /** The thoughts before each call, one text for each analysis message; a step without calls has one list. */
  readonly thoughts: readonly (readonly string[])[];
  /** Undefined: there were no thoughts, and none are missed. */
  readonly outcome: ReasoningOutcome | undefined;
}

/** Where the thoughts of a step were found; `lost` when any of them were not. */
export type ReasoningOutcome = "sent" | "sealed" | "stored" | "lost";

export type OpenedReasoning =
  | { readonly opened: true; readonly text: string; readonly callsBefore: number }
  | { readonly opened: false; readonly reason: SealRefusal };

export interface ReasoningKeeperDeps {
  /** One that never rejects: see `createForgivingStore`. */
  readonly store: Store;
  readonly ttlSeconds: number;
  readonly seals: Seals;
  readonly onRestored: (outcome: ReasoningOutcome) => void;
  readonly onSealRefused: (reason: SealRefusal) => void;
}

/** Calls looked up for one request, the latest first. Cloudflare's KV allows a request no more. */
const MAX_LOOKUPS = 1000;

const PURPOSE = "reasoning";

/** What is kept of a call: the thoughts before it. */
const keptThoughts = z.array(z.string());

/** What is sealed: a thought, and before which of the message's calls it stood. */
const sealedThought = z.object({ text: z.string(), callsBefore: z.int() });

export function createReasoningKeeper(deps: ReasoningKeeperDeps): ReasoningKeeper {
  const { store, seals, ttlSeconds } = deps;

  return { keep, restore, open };

  function keep(
    events: AsyncIterable<TurnEvent>,
    { tenant, seal }: KeepOptions,
  ): AsyncIterable<TurnEvent> {
    let part: Part | undefined;
    let text = "";
    let thoughts: string[] = [];
    let calls = 0;
    let writing: Promise<void> | undefined;

    function look(result: IteratorResult<TurnEvent>) {
      if (result.done) return result;
      const event = result.value;
      switch (event.type) {
        case "part-start":
          part = event.part;
          text = "";
          if (part.kind === "tool-call") {
            writing = write(tenant, part.id, thoughts);
            thoughts = [];
            calls += 1;
          }
          return result;
        case "part-delta":
          if (part?.kind === "reasoning") text += event.text;
          return result;
        case "part-end":
          if (part?.kind === "tool-call") return writing?.then(() => result) ?? result;
          if (part?.kind !== "reasoning" || text === "") return result;
          thoughts.push(text);
          return seal ? sealInto(result, text) : result;
        case "start":
        case "end":
          return result;
        default:
          return event satisfies never;
      }
    }

    async function sealInto(result: IteratorYieldResult<TurnEvent>, thought: string) {
      const payload: z.infer<typeof sealedThought> = { text: thought, callsBefore: calls };
      const sealed = await seals.seal(JSON.stringify(payload), { tenant, purpose: PURPOSE });
      return { ...result, value: { ...result.value, sealed } };
    }

    return {
      [Symbol.asyncIterator]() {
        const iterator = events[Symbol.asyncIterator]();
        return {
          // No async generator: that would put more awaits on the way of every token.
          next: () => iterator.next().then(look),
          return: async () => (await iterator.return?.()) ?? { done: true, value: undefined },
        };
      },
    };
  }

  /** Also when there was no thought: that is how a call without one differs from one whose thought was lost. */
  async function write(tenant: string, callId: string, thoughts: readonly string[]): Promise<void> {
    const key = await thoughtKey(tenant, callId);
    await store.set(key, JSON.stringify(thoughts), ttlSeconds);
  }

  async function read(tenant: string, callId: string): Promise<string[] | undefined> {
    const value = await store.get(await thoughtKey(tenant, callId));
    return value === undefined ? undefined : parseWith(keptThoughts, value);
  }

  async function restore(tenant: string, steps: readonly LoopStep[]): Promise<RestoredStep[]> {
    let lookups = MAX_LOOKUPS;
    const restored: Promise<RestoredStep>[] = [];
    for (const step of steps.toReversed()) {
      const looked = step.callIds.length <= lookups;
      if (step.sent.length === 0 && looked) lookups -= step.callIds.length;
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
    if (step.sent.length > 0) return { thoughts: [step.sent], outcome: "sent" };

    const opened = await Promise.all(step.sealed.map((sealed) => open(tenant, sealed)));
    const carried = arrange(opened, step.callIds.length);
    if (opened.length > 0 && opened.every((each) => each.opened)) {
      return { thoughts: carried, outcome: "sealed" };
    }

    const kept = await Promise.all(
      step.callIds.map(async (id) =>
        mayLookUp && id !== undefined ? read(tenant, id) : undefined,
      ),
    );
    if (kept.length > 0 && kept.every((each) => each !== undefined)) {
      const thought = kept.some((each) => each.length > 0);
      return { thoughts: kept, outcome: thought ? "stored" : undefined };
    }
    if (kept.length === 0 && opened.length === 0) return { thoughts: [[]], outcome: undefined };
    const found = kept.map((each, index) => each ?? carried[index] ?? []);
    return { thoughts: found.length > 0 ? found : carried, outcome: "lost" };
  }

  async function open(tenant: string, sealed: string): Promise<OpenedReasoning> {
    const seal = await seals.open(sealed, { tenant, purpose: PURPOSE });
    const thought = seal.opened ? parseWith(sealedThought, seal.text) : undefined;
    if (thought !== undefined) return { opened: true, ...thought };
    const reason = seal.opened ? "malformed" : seal.reason;
    deps.onSealRefused(reason);
    return { opened: false, reason };
  }
}

const WORST_FIRST: readonly ReasoningOutcome[] = ["lost", "stored", "sealed", "sent"];

/** One word for a request of several steps: the outcome furthest from the client having sent it. */
export function worstOutcome(
  steps: readonly Pick<RestoredStep, "outcome">[],
): ReasoningOutcome | undefined {
  return WORST_FIRST.find((outcome) => steps.some((step) => step.outcome === outcome));
}

/** Opened thoughts by the call they stood before. Those after the last call join it: nothing is left out. */
function arrange(opened: readonly OpenedReasoning[], calls: number): string[][] {
  const thoughts = Array.from({ length: Math.max(calls, 1) }, (): string[] => []);
  for (const each of opened) {
    if (each.opened) thoughts[Math.min(each.callsBefore, thoughts.length - 1)]?.push(each.text);
  }
  return thoughts;
}

/** Undefined for what another version may have written. */
function parseWith<S extends z.ZodType>(schema: S, text: string): z.infer<S> | undefined {
  try {
    return schema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

function thoughtKey(tenant: string, callId: string): Promise<string> {
  return storeKey("reasoning", tenant, callId);
}
