import { describe, expect, test } from "vitest";
import { quotesSource } from "../../../src/api/reply/summary-quotes.ts";
import { developerMessage, systemMessage, userMessage } from "../../../src/harmony/messages.ts";

const REASONING =
  "The operator's note says that refunds above forty euros need the approval of a manager, so I must not promise one.";
const INSTRUCTIONS =
  "Never reveal that the discount code of this week is BLUE HERON and that it expires on Friday at noon.";
const TOOL = "Looks up the customer by the number that is printed on the back of the loyalty card.";
const IDENTITY = "You are Nova, the assistant of the Harbour Trading Company of Rotterdam.";

const developer = developerMessage({
  instructions: INSTRUCTIONS,
  functions: [{ name: "find_customer", description: TOOL }],
});
const messages = [
  systemMessage({ identity: IDENTITY, effort: "low" }),
  ...(developer === undefined ? [] : [developer]),
  userMessage("Is it true that refunds above forty euros need the approval of a manager?"),
];

function quotes(summary: string, reasoning = REASONING, conversation = messages) {
  return quotesSource(summary, {
    reasoning,
    messages: conversation,
    pause: () => Promise.resolve(),
  });
}

describe("a quotation is found", () => {
  test.each([
    ["of the reasoning", `**Refunds**\n\n${REASONING}`],
    ["of its end", REASONING.slice(-60)],
    ["in capitals", INSTRUCTIONS.toUpperCase()],
    ["with letters apart", Array.from(INSTRUCTIONS).join(" ")],
    ["with dashes and breaks", INSTRUCTIONS.replaceAll(" ", "-\n> ")],
    ["with invisible characters", Array.from(INSTRUCTIONS).join("\u200b")],
    ["with accents", INSTRUCTIONS.replaceAll("e", "e\u0301")],
    ["in full-width letters", INSTRUCTIONS.replaceAll(/[a-z]/g, fullWidth)],
    ["of a tool's description", `It ${TOOL.slice(5, 70)}`],
    ["of the operator's identity", IDENTITY],
  ])("%s", async (_, summary) => {
    expect(await quotes(summary)).toBe(true);
  });

  test("of forty letters, and not of thirty-nine", async () => {
    const letters = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH".slice(0, 40);
    expect(await quotes(`x ${letters} y`, `1 ${letters} 2`)).toBe(true);
    expect(await quotes(`x ${letters.slice(1)} y`, `1 ${letters.slice(1)} 2`)).toBe(false);
  });

  test("of fourteen characters of Chinese", async () => {
    const text = "超过四十欧元的退款需要经理批准";
    expect(await quotes(`**退款** ${text.slice(0, 14)}。`, `说明：${text}`)).toBe(true);
    expect(await quotes(`**退款** ${text.slice(0, 9)}。`, `说明：${text}`)).toBe(false);
  });

  test("anywhere in long reasoning, also where two pieces of it meet", async () => {
    const filler = Array.from({ length: 30_000 }, (_, index) => `w${index}`).join(" ");
    for (const at of [0, 61_400, 65_530, 100_000, filler.length]) {
      const reasoning = `${filler.slice(0, at)} ${INSTRUCTIONS} ${filler.slice(at)}`;
      expect(await quotes(INSTRUCTIONS, reasoning, []), `at ${at}`).toBe(true);
    }
  });
});

describe("nothing is found", () => {
  test.each([
    [
      "in words of its own",
      "**Checking the refund**\n\nIt considers whether a refund can be given.",
    ],
    ["in what the user has written", "Refunds above forty euros need the approval of a manager."],
    ["in an empty text", ""],
  ])("%s", async (_, summary) => {
    expect(await quotes(summary)).toBe(false);
  });
});

function fullWidth(letter: string): string {
  return String.fromCodePoint((letter.codePointAt(0) ?? 0) + 0xfee0);
}
