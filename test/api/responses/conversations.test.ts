import { expect, test, vi } from "vitest";
import { ConversationStore } from "../../../src/api/responses/conversations.ts";
import { createMemoryStore, type Store } from "../../../src/index.ts";
import { useFakeTime } from "../../helpers/fake-time.ts";

useFakeTime();

const clock = () => performance.now();
const EMPTY = { id: "conv_1", createdAt: 0, metadata: {}, items: [] };

/** A store whose changes take 200 ms at most. `cancelled`: the number of first reads that belong to cancelled requests. */
async function conversationsWith({ cancelled }: { readonly cancelled: number }) {
  const memory = createMemoryStore({ maxEntries: 10, maxBytes: 10_000, now: clock });
  let reads = 0;
  const store = {
    maxEntryBytes: Infinity,
    staleMs: 0,
    paceMs: 0,
    changeMs: 200,
    // Nothing of a cancelled request goes on: neither its promises nor its timers.
    get: (key: string) => (reads++ < cancelled ? new Promise<never>(() => {}) : memory.get(key)),
    set: (...entry: Parameters<Store["set"]>) => memory.set(...entry),
    delete: (key: string) => memory.delete(key),
    check: () => Promise.resolve(),
  };
  const conversations = new ConversationStore({
    store,
    clock,
    ttlSeconds: 60,
    onUnreadable: () => undefined,
  });
  await conversations.put("alice", EMPTY);
  const add = (name: string) =>
    conversations.update("alice", "conv_1", (found) => ({
      ...found,
      items: [...found.items, { type: name }],
    }));
  return { conversations, add };
}

test("changes wait for each other, so that none is lost", async () => {
  const { conversations, add } = await conversationsWith({ cancelled: 0 });
  await Promise.all(["a", "b", "c"].map(add));
  const found = await conversations.get("alice", "conv_1");
  expect(found?.items.map(({ type }) => type)).toEqual(["a", "b", "c"]);
});

test("a conversation that is deleted while it is changed does not come back", async () => {
  const { conversations, add } = await conversationsWith({ cancelled: 0 });
  const changed = add("a");
  const deleted = conversations.delete("alice", "conv_1");
  const late = add("b");
  expect((await changed)?.items).toEqual([{ type: "a" }]);
  await deleted;
  expect(await late).toBeUndefined();
  expect(await conversations.get("alice", "conv_1")).toBeUndefined();
});

test("a change of a cancelled request holds up the next one only as long as a change may take", async () => {
  const { add } = await conversationsWith({ cancelled: 1 });
  void add("cancelled");
  const ended: string[] = [];
  const others = ["a", "b"].map((name) => add(name).then(() => ended.push(name)));
  await vi.advanceTimersByTimeAsync(199);
  expect(ended).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(ended).toEqual(["a", "b"]);
  await Promise.all(others);
});
