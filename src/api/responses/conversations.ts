/**
 * Conversations: a named list of items that responses continue and add to.
 *
 * An entry is read, changed and written whole. Within this process changes to one conversation wait for each other;
 * two replicas that change the same one at the same moment may lose a change.
 */
import * as z from "zod";
import { type Store, storeKey } from "../../store/store.ts";
import type { WireItem } from "./items.ts";

export interface StoredConversation {
  /** `conv_…` */
  readonly id: string;
  /** Seconds since 1970. */
  readonly createdAt: number;
  readonly metadata: Readonly<Record<string, string>>;
  readonly items: readonly WireItem[];
}

export interface ConversationStore {
  get(tenant: string, id: string): Promise<StoredConversation | undefined>;
  put(tenant: string, conversation: StoredConversation): Promise<void>;
  delete(tenant: string, id: string): Promise<void>;
  /** Replaces it by what `change` makes of it. Undefined when there is none, or none any more. */
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

export function createConversationStore(store: Store, ttlSeconds: number): ConversationStore {
  /** The last change under way of each conversation. */
  const changing = new Map<string, Promise<unknown>>();

  return { get, put, delete: remove, update };

  async function get(tenant: string, id: string): Promise<StoredConversation | undefined> {
    const text = await store.get(await conversationKey(tenant, id));
    return text === undefined ? undefined : storedConversation.safeParse(JSON.parse(text)).data;
  }

  async function put(tenant: string, conversation: StoredConversation): Promise<void> {
    const key = await conversationKey(tenant, conversation.id);
    await store.set(key, JSON.stringify(conversation), ttlSeconds);
  }

  async function remove(tenant: string, id: string): Promise<void> {
    await store.delete(await conversationKey(tenant, id));
  }

  async function update(
    tenant: string,
    id: string,
    change: (conversation: StoredConversation) => StoredConversation,
  ): Promise<StoredConversation | undefined> {
    const key = await conversationKey(tenant, id);
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

function conversationKey(tenant: string, id: string): Promise<string> {
  return storeKey("conversation", tenant, id);
}
