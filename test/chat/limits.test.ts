import { expect, test } from "vitest";
import { add, newConversation } from "../../web/chat/conversation.ts";
import { beyondLimits } from "../../web/chat/limits.ts";

function chats(
  count: number,
  files: readonly { readonly name: string; readonly url: string }[] = [],
) {
  return Array.from({ length: count }, (_, index) =>
    add(newConversation(), { id: `m${index}`, parent: null, role: "user", text: "See.", files }),
  );
}

const isNone = () => false;

test("pictures of a chat leave room for others", () => {
  const all = chats(12, [{ name: "photo.png", url: "a".repeat(10_000_000) }]);
  expect(beyondLimits(all.slice(0, 9), isNone)).toEqual([]);
  expect(beyondLimits(all, isNone)).toEqual(all.slice(9));
  // Once more, with the sizes that are known.
  expect(beyondLimits(all, isNone)).toEqual(all.slice(9));
});

test("the oldest chats beyond 200 go, pinned ones after them, and one in use never, however large", () => {
  const all = chats(203);
  const [newest] = all;
  expect(beyondLimits(all, isNone)).toEqual(all.slice(200));
  const pinned = all.map((chat, index) => ({ ...chat, isPinned: index > 200 }));
  expect(beyondLimits(pinned, isNone)).toEqual(pinned.slice(198, 201));
  expect(beyondLimits(all, ({ id }) => id === all[202]?.id)).toEqual(all.slice(199, 202));
  const [large] = chats(1, [{ name: "x", url: "a".repeat(101_000_000) }]);
  if (large === undefined || newest === undefined) throw new Error("there are chats");
  expect(beyondLimits([large, newest], (chat) => chat === large)).toEqual([newest]);
});
