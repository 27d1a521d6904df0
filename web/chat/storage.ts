/** Conversations in this browser's IndexedDB. The gateway stores none. */
import { type Conversation, mergeMessages, type Message } from "./conversation.ts";

const DATABASE = "harmony-gateway";
const STORE = "conversations";

/** What storing reports: undefined, or a sentence for the reader. */
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

/** Messages that were loaded or stored, and do not change. A changed one is another object. */
const known = new WeakSet<Message>();

function note({ messages }: Conversation): void {
  for (const message of messages) known.add(message);
}

/** Newest first. */
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

/** Stores a conversation, with the messages that another tab has added to it, and deletes others. */
export async function save(
  conversation: Conversation,
  dropped: Iterable<Conversation>,
): Promise<StorageProblem> {
  try {
    const store = (await open()).transaction(STORE, "readwrite").objectStore(STORE);
    const stored: Conversation | undefined = await settled(store.get(conversation.id));
    const messages = mergeMessages(
      stored?.messages ?? [],
      conversation.messages,
      (message) => !known.has(message),
    );
    await settled(store.put({ ...conversation, messages }));
    note(conversation);
    for (const { id } of dropped) store.delete(id);
    return undefined;
  } catch (error) {
    return error instanceof DOMException && error.name === "QuotaExceededError" ? FULL : FORBIDDEN;
  }
}

export async function remove(id: string): Promise<void> {
  try {
    await settled((await open()).transaction(STORE, "readwrite").objectStore(STORE).delete(id));
  } catch {
    // What could not be stored needs no deleting.
  }
}
