/**
 * Conversations: named lists of items that responses continue and extend.
 *
 * An entry is read, changed and written as a whole. Changes to one conversation are serialised within this process. If two
 * replicas change the same one concurrently, one change may be lost.
 */
import * as z from "zod";
import { createEntries, type EntryDeps } from "../../store/entries.ts";
import { storeKey } from "../../store/store.ts";
import { RequestError } from "../errors.ts";
import type { WireItem } from "./items.ts";

export interface StoredConversation {
  /** `conv_…` */
  readonly id: string;
  /** Seconds since 1970. */
  readonly createdAt: number;
  readonly metadata: Readonly<Record<string, string>>;
  readonly items: readonly WireItem[];
}

/** Rejects with a `StoreError` when the store fails. */
export interface ConversationStore {
  get(tenant: string, id: string): Promise<StoredConversation | undefined>;
  /** @throws RequestError when it is too large to be stored; the stored version is unchanged. */
  put(tenant: string, conversation: StoredConversation): Promise<void>;
  delete(tenant: string, id: string): Promise<void>;
  /** Replaces it by the result of `change`. Undefined when it does not exist or has expired. */
  update(
    tenant: string,
    id: string,
    change: (conversation: StoredConversation) => StoredConversation,
  ): Promise<StoredConversation | undefined>;
}

const storedConversation = z.lazy(() =>
  z.object({
    id: z.string(),
    createdAt: z.number(),
    metadata: z.record(z.string(), z.string()),
    items: z.array(z.looseObject({ type: z.string() })),
  }),
);

export function createConversationStore(deps: EntryDeps): ConversationStore {
  const entries = createEntries<z.ZodType<StoredConversation>>(
    "conversation",
    [storedConversation],
    deps,
  );
  /** The latest in-flight change of each conversation. */
  const changing = new Map<string, Promise<unknown>>();

  const get: ConversationStore["get"] = (tenant, id) => entries.get(tenant, id);

  return { get, put, delete: (tenant, id) => entries.delete(tenant, id), update };

  async function put(tenant: string, conversation: StoredConversation): Promise<void> {
    const isKept = await entries.set(conversation, tenant, conversation.id);
    if (!isKept) throw conversationTooLarge();
  }

  async function update(
    tenant: string,
    id: string,
    change: (conversation: StoredConversation) => StoredConversation,
  ): Promise<StoredConversation | undefined> {
    const key = await storeKey("changing", tenant, id);
    const before = changing.get(key);
    const changed = (async () => {
      await before;
      const found = await get(tenant, id);
      if (found === undefined) return undefined;
      const next = change(found);
      await put(tenant, next);
      return next;
    })();
    // The next change waits for this one, whether it succeeds or not.
    const settled = changed.catch(() => undefined);
    changing.set(key, settled);
    try {
      return await changed;
    } finally {
      if (changing.get(key) === settled) changing.delete(key);
    }
  }
}

export function conversationTooLarge(): RequestError {
  return new RequestError(
    "The conversation would be too large to be stored. Delete items from it, or start a new one.",
    { status: 413, param: "conversation", errorType: "payload_too_large" },
  );
}
