import { expect, test } from "vitest";
import type { Attachment } from "../../src/snippets/composed.ts";
import { add, newConversation } from "../../web/chat/conversation.ts";
import { beyondLimits } from "../../web/chat/limits.ts";

function chats(count: number, files: readonly Attachment[] = []) {
  return Array.from({ length: count }, (_, index) =>
    add(newConversation(), { id: `m${index}`, parent: null, role: "user", text: "See.", files }),
  );
}

test("pictures of a chat leave room for others", () => {
  const all = chats(12, [{ name: "photo.png", url: "a".repeat(10_000_000) }]);
  expect(beyondLimits(all.slice(0, 9))).toEqual([]);
  expect(beyondLimits(all)).toEqual(all.slice(9));
  // Once more, with the sizes that are known.
  expect(beyondLimits(all)).toEqual(all.slice(9));
});

test("the oldest chats beyond 200 go, and the newest never, however large", () => {
  const all = chats(203);
  expect(beyondLimits(all)).toEqual(all.slice(200));
  expect(beyondLimits(chats(1, [{ name: "x", url: "a".repeat(101_000_000) }]))).toEqual([]);
});
