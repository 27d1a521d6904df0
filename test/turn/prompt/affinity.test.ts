import { describe, expect, test } from "vitest";
import type { Message } from "../../../src/harmony/index.ts";
import { toAffinity } from "../../../src/turn/prompt/affinity.ts";
import { scriptedEngine } from "../../helpers/scripted-engine.ts";
import { finishTurn, turnWith } from "../../helpers/turns.ts";

const system = (effort: "medium" | "high", date: string): Message => ({
  role: "system",
  content: [{ type: "system", identity: "You are a test.", effort, date }],
});
const developer = (instructions: string): Message => ({
  role: "developer",
  content: [{ type: "developer", instructions }],
});
const user = (content: string): Message => ({ role: "user", content });

const BEGINNING: readonly Message[] = [
  system("medium", "2026-01-31"),
  developer("Be brief."),
  user("What is the weather in Kyiv?"),
];

const affinity = (messages: readonly Message[], tenant = "alice") => toAffinity(tenant, messages);

const withUser = (text: string) => [...BEGINNING.slice(0, 2), user(text)];

describe("a conversation without a name", () => {
  test("is identified by its beginning, whatever its length and the date", () => {
    const later = [
      system("high", "2026-02-01"),
      ...BEGINNING.slice(1),
      { role: "assistant", channel: "final", content: "Rain." } as const,
      user("And tomorrow?"),
    ];
    expect(affinity(later)).toBe(affinity(BEGINNING));
    expect(affinity(BEGINNING)).toMatch(/^[0-9a-f]{8}$/);
  });

  test.each<[string, string]>([
    ["another question", affinity(withUser("What is the weather in Lviv?"))],
    [
      "other instructions",
      affinity([...BEGINNING.slice(0, 1), developer("Be long."), ...BEGINNING.slice(2)]),
    ],
    ["another tenant", affinity(BEGINNING, "bob")],
    ["no user at all", affinity(BEGINNING.slice(0, 2))],
  ])("is another with %s", (_, other) => {
    expect(other).not.toBe(affinity(BEGINNING));
  });

  test("differs from another with the same long beginning by its length alone", () => {
    const long = "x".repeat(2_000);
    expect(affinity(withUser(`${long}ab`))).toBe(affinity(withUser(`${long}cd`)));
    expect(affinity(withUser(`${long}abc`))).not.toBe(affinity(withUser(`${long}cd`)));
  });
});

test.each([
  ["what the client says", { affinity: "session-1" }, "session-1"],
  ["how it begins", {}, affinity(turnWith().prompt.messages, "anonymous")],
])("the engine receives %s", async (_, fields, expected) => {
  const engine = scriptedEngine(["<|channel|>final<|message|>Rain.<|return|>"]);
  await finishTurn(engine, turnWith(fields));
  expect(engine.requests.map((request) => request.affinity)).toEqual([expected]);
});
