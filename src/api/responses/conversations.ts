/**
 * Conversations: named lists of items that responses continue and extend.
 *
 * An entry is read, changed and written as a whole. Changes to one conversation, and its deletion, are serialised
 * within this process. If two replicas change one conversation concurrently, one change may be lost, or a deletion
 * undone.
 *
 * A change waits for the previous one at most as long as the store's timeouts allow that to take: on Workers, the
 * change of a cancelled request never ends.
 */
import { partOf, type ProcessState } from "../../lazy.ts";
import * as z from "zod";
import { createEntries, type Entries, type EntryDeps } from "../../store/entries.ts";
import type { GuardedStore } from "../../store/guarded-store.ts";
import { storeKey } from "../../store/store.ts";
import { waitAtMost } from "../../streams/timers.ts";
import { refusal, RequestError } from "../errors.ts";
import type { RequestLimits } from "../request/limits.ts";
import type { WireItem } from "./items.ts";

export interface StoredConversation {
  /** `conv_…` */
  readonly id: string;
  /** Seconds since 1970. */
  readonly createdAt: number;
  readonly metadata: Readonly<Record<string, string>>;
  readonly items: readonly WireItem[];
  /** Requests that continue a private conversation are private too. */
  readonly isPrivate?: boolean | undefined;
}

const storedConversation = z.lazy(() =>
  z.object({
    id: z.string(),
    createdAt: z.number(),
    metadata: z.record(z.string(), z.string()),
    items: z.array(z.looseObject({ type: z.string() })),
    isPrivate: z.boolean().optional(),
  }),
);

export interface ConversationDeps extends EntryDeps {
  readonly store: GuardedStore;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
  /** Holds the changes of all generations of settings, which wait for each other. */
  readonly state?: ProcessState;
}

/** A change that is in flight, or waits for the previous one. */
interface Change {
  /** Never rejects. */
  readonly ended: Promise<unknown>;
  /**
   * Latest time of the change's end, whatever happened to its request. Extended once the conversation has been read.
   */
  endsBy: number;
}

/** The latest change of each conversation, oldest first. */
const changesIn = partOf(() => new Map<string, Change>());

/** The stored conversations. Methods reject with a `StoreError` when the store fails. */
export class ConversationStore {
  readonly #deps: ConversationDeps;
  readonly #entries: Entries<StoredConversation>;
  readonly #changing: Map<string, Change>;

  constructor(deps: ConversationDeps) {
    this.#deps = deps;
    this.#entries = createEntries<z.ZodType<StoredConversation>>(
      "conversation",
      [storedConversation],
      deps,
    );
    this.#changing = changesIn(deps.state);
  }

  get(tenant: string, id: string): Promise<StoredConversation | undefined> {
    return this.#entries.get(tenant, id);
  }

  /** @throws RequestError when the conversation is too large to be stored; the stored version is unchanged. */
  async put(tenant: string, conversation: StoredConversation): Promise<void> {
    const isKept = await this.#entries.set(conversation, tenant, conversation.id);
    if (!isKept) throw conversationTooLarge();
  }

  delete(tenant: string, id: string): Promise<void> {
    return this.#inTurn(tenant, id, () => this.#entries.delete(tenant, id));
  }

  /** Replaces a conversation by the result of `change`. Undefined if it does not exist or has expired. */
  update(
    tenant: string,
    id: string,
    change: (conversation: StoredConversation) => StoredConversation,
  ): Promise<StoredConversation | undefined> {
    return this.#inTurn(tenant, id, async (goesOn) => {
      const found = await this.get(tenant, id);
      if (found === undefined) return undefined;
      // A large conversation is read in slices, which takes long while other requests are served.
      goesOn();
      const next = change(found);
      await this.put(tenant, next);
      return next;
    });
  }

  async #waitForEnd(change: Change): Promise<void> {
    const state = { hasEnded: false };
    const ended = (async () => {
      await change.ended;
      state.hasEnded = true;
    })();
    for (;;) {
      const leftMs = change.endsBy - this.#deps.clock();
      if (state.hasEnded || leftMs <= 0) return;
      await waitAtMost(ended, leftMs);
    }
  }

  async #inTurn<T>(
    tenant: string,
    id: string,
    work: (goesOn: () => void) => Promise<T>,
  ): Promise<T> {
    const { clock, store } = this.#deps;
    const changing = this.#changing;
    const key = await storeKey("changing", tenant, id);
    const now = clock();
    for (const [oldest, { endsBy }] of changing) {
      if (endsBy > now) break;
      changing.delete(oldest);
    }
    const before = changing.get(key);
    const changed = (async () => {
      if (before) await this.#waitForEnd(before);
      return work(() => {
        own.endsBy = Math.max(own.endsBy, clock() + store.changeMs);
      });
    })();
    const own: Change = {
      ended: changed.catch(() => undefined),
      endsBy: Math.max(now, before?.endsBy ?? now) + store.changeMs,
    };
    changing.delete(key);
    changing.set(key, own);
    try {
      return await changed;
    } finally {
      if (changing.get(key) === own) changing.delete(key);
    }
  }
}

/** @throws RequestError if a conversation would have more items than a request may have messages. */
export function refuseManyItems(count: number, { maxMessages }: RequestLimits): void {
  if (count <= maxMessages) return;
  throw refusal(
    "conversation",
    `would have ${count} items, more than the ${maxMessages} allowed (setting maxMessages). Delete items from it, or start a new one.`,
    { status: 413 },
  );
}

export function conversationTooLarge(): RequestError {
  return new RequestError(
    "The conversation would be too large to be stored. Delete items from it, or start a new one.",
    { status: 413, param: "conversation" },
  );
}
