/** Conversations in this browser's IndexedDB. The gateway has no copy. */
import { type Conversation, mergeFields, mergeMessages, type Message } from "./conversation.ts";

const DATABASE = "harmony-gateway";
const STORE = "conversations";

/** The result of storing: undefined, or a sentence for the reader. */
export type StorageProblem = string | undefined;

const FORBIDDEN =
  "This browser does not let the page store anything: chats are lost when it is closed.";
const FULL =
  "The browser's storage is full: newer chats are lost when the page is closed. Delete some, or export this one.";

let opening: Promise<IDBDatabase> | undefined;

function open(): Promise<IDBDatabase> {
  opening ??= new Promise((resolve, reject) => {
    const request = indexedDB.open(DATABASE, 1);
    request.addEventListener("upgradeneeded", () => {
      request.result.createObjectStore(STORE, { keyPath: "id" });
    });
    request.addEventListener("success", () => resolve(request.result));
    request.addEventListener("error", () => reject(request.error ?? new Error(FORBIDDEN)));
  });
  return opening;
}

function settled<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.addEventListener("success", () => resolve(request.result));
    request.addEventListener("error", () => reject(request.error ?? new Error(FULL)));
  });
}

/** Messages that were loaded or stored. They are immutable: a changed message is another object. */
const known = new WeakSet<Message>();
/** Conversations in their last loaded or stored state, by their ids. */
const before = new Map<string, Conversation>();

function note(conversation: Conversation): void {
  for (const message of conversation.messages) known.add(message);
  before.set(conversation.id, conversation);
}

/** Merges changes that another tab has stored since. */
function merge(stored: Conversation | undefined, own: Conversation): Conversation {
  if (stored === undefined) return own;
  const messages = mergeMessages(stored.messages, own.messages, (message) => !known.has(message));
  return { ...mergeFields(stored, own, before.get(own.id) ?? own), messages };
}

/** Loads all conversations, newest first. */
export async function loadAll(): Promise<{ all: Conversation[]; problem: StorageProblem }> {
  try {
    const store = (await open()).transaction(STORE).objectStore(STORE);
    const all: Conversation[] = await settled(store.getAll());
    for (const conversation of all) note(conversation);
    return { all: all.toSorted((a, b) => b.updated - a.updated), problem: undefined };
  } catch {
    return { all: [], problem: FORBIDDEN };
  }
}

/** A conversation merged with another tab's stored changes. */
export async function refresh(conversation: Conversation): Promise<Conversation> {
  try {
    const store = (await open()).transaction(STORE).objectStore(STORE);
    const stored: Conversation | undefined = await settled(store.get(conversation.id));
    if (stored !== undefined) for (const message of stored.messages) known.add(message);
    return merge(stored, conversation);
  } catch {
    return conversation;
  }
}

/** Stores a conversation, merged with another tab's changes, and deletes others. */
export async function save(
  conversation: Conversation,
  dropped: Iterable<Conversation>,
): Promise<StorageProblem> {
  try {
    const store = (await open()).transaction(STORE, "readwrite").objectStore(STORE);
    const stored: Conversation | undefined = await settled(store.get(conversation.id));
    await settled(store.put(merge(stored, conversation)));
    note(conversation);
    for (const { id } of dropped) {
      store.delete(id);
      before.delete(id);
    }
    return undefined;
  } catch (error) {
    return error instanceof DOMException && error.name === "QuotaExceededError" ? FULL : FORBIDDEN;
  }
}

export async function remove(id: string): Promise<void> {
  before.delete(id);
  try {
    await settled((await open()).transaction(STORE, "readwrite").objectStore(STORE).delete(id));
  } catch {
    // A conversation that could not be stored needs no deletion.
  }
}
