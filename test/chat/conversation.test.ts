import { expect, test } from "vitest";
import {
  mergeFields,
  type Message,
  mergeMessages,
  newConversation,
} from "../../web/chat/conversation.ts";

function messageOf(id: string, text: string): Message {
  return { id, parent: null, role: "user", text };
}

test.each<readonly [string, string[], string[], string[], string[]]>([
  // Ids and texts; those of `own` that this tab has changed; what is kept.
  [
    "what the other tab has added stays, before what is new",
    ["a0", "b0"],
    ["a0", "c0"],
    ["c"],
    ["a0", "b0", "c0"],
  ],
  [
    "an answer that the other tab has continued stays continued",
    ["a1"],
    ["a0", "c0"],
    ["c"],
    ["a1", "c0"],
  ],
  ["an answer that this tab has continued replaces the stored one", ["a0"], ["a1"], ["a"], ["a1"]],
  ["of an answer that both have continued, this tab's is kept", ["a1"], ["a2"], ["a"], ["a2"]],
  ["a conversation that was deleted comes back whole", [], ["a0", "b0"], [], ["a0", "b0"]],
])("%s", (_, stored, own, changed, kept) => {
  const toMessages = (texts: readonly string[]) =>
    texts.map((text) => messageOf(text.slice(0, 1), text));
  const merged = mergeMessages(toMessages(stored), toMessages(own), ({ id }) =>
    changed.includes(id),
  );
  expect(merged).toEqual(toMessages(kept));
});

test("of the fields, each tab's changes are kept, and this tab's where both have changed one", () => {
  const before = { ...newConversation(), title: "T", model: "m", forkOf: "turn" };
  const { forkOf: _, ...own } = { ...before, system: "Be brief.", format: "object" as const };
  const stored = { ...before, title: "Renamed", isPinned: true, format: "schema" as const };
  const { forkOf: __, ...others } = stored;
  expect(mergeFields(stored, own, before)).toEqual({
    ...others,
    system: "Be brief.",
    format: "object",
  });
});
