import { expect, test } from "vitest";
import type { Answer, AnswerPart, Conversation } from "../../web/chat/conversation.ts";
import { fromMarkdown, toMarkdown } from "../../web/chat/markdown-file.ts";

function conversationOf(parts: readonly AnswerPart[]): Conversation {
  const question = { id: "q", parent: null, role: "user", text: "Why?\n\nSay." } as const;
  const fields = { id: "a", parent: "q", role: "assistant", api: "chat", model: "m" } as const;
  const answer: Answer = { ...fields, status: "done", parts };
  return {
    id: "c",
    title: "A title",
    updated: 0,
    messages: [question, answer],
    chosen: {},
    api: "chat",
    system: "",
    tools: "",
    options: {},
    format: "",
    schema: "",
    results: {},
  };
}

test("a loop of calls is read back from its Markdown", () => {
  const parts: readonly AnswerPart[] = [
    { type: "reasoning", text: "I think.\n\nTwice." },
    { type: "text", text: "I look." },
    { type: "call", id: "call_2", name: "f", arguments: '{\n\n"a": 1}', result: "one\n\n> two" },
    { type: "reasoning", text: "Now I know." },
    { type: "call", id: "call_4", name: "g", arguments: "{}" },
    { type: "text", text: "# Done\n\n> as quoted\n\n- x" },
  ];
  expect(fromMarkdown(toMarkdown(conversationOf(parts)))).toEqual({
    title: "A title",
    messages: [
      { role: "user", text: "Why?\n\nSay." },
      { role: "assistant", parts },
    ],
  });
});

test("a call that the gateway has run is text when it is read back", () => {
  const ran = { type: "ran", id: "r", name: "search", arguments: "{}", result: "found" } as const;
  const [, answer] = fromMarkdown(toMarkdown(conversationOf([ran]))).messages;
  expect(answer).toEqual({
    role: "assistant",
    parts: [{ type: "text", text: "Run by the gateway: `search({})` → found" }],
  });
});

test("a line like the heading of a message is text", () => {
  const said = "## You\n\n\\## gpt-oss\n## Your";
  const parts: readonly AnswerPart[] = [{ type: "text", text: said }];
  const { messages, ...conversation } = conversationOf(parts);
  const asked = messages.map((each) => (each.role === "user" ? { ...each, text: said } : each));
  const written = toMarkdown({ ...conversation, messages: asked });
  expect(fromMarkdown(written).messages).toEqual([
    { role: "user", text: said },
    { role: "assistant", parts },
  ]);
});

test("attached files stay as their names", () => {
  const { messages, ...conversation } = conversationOf([{ type: "text", text: "A cat." }]);
  const files = [
    { name: "cat.png", url: "data:image/png;base64,AAAA" },
    { name: "notes.pdf", url: "data:application/pdf;base64,AAAA" },
  ];
  const asked = messages.map((each) => (each.role === "user" ? { ...each, files } : each));
  const written = toMarkdown({ ...conversation, messages: asked });
  expect(written).not.toContain("AAAA");
  const [question] = fromMarkdown(written).messages;
  const text = "Why?\n\nSay.\n\nAttached, but not in this file: `cat.png`, `notes.pdf`";
  expect(question).toEqual({ role: "user", text });
});

test("other Markdown is no conversation", () => {
  expect(() => fromMarkdown("# Notes")).toThrow("it has no part that begins with “## You”");
});
