/** Text of engines that are known to hide markers: how the parser reads the remaining words. */
import { describe, expect, test } from "vitest";
import { createParser } from "../../src/harmony/index.ts";
import { o200kHarmony } from "../../src/tokenizer/index.ts";
import { spelledIds } from "../helpers/spelled.ts";
import { read, toParts } from "./parse-cases.ts";

const OPTIONS = { toolNames: ["get_weather"], markers: "hidden" } as const;

function partsOf(pushes: readonly string[], reason: "stop" | "length" = "stop"): string[] {
  const { parts } = read({ form: "text", pushes }, reason, OPTIONS);
  return parts.map((part) =>
    part.type === "tool_call" ? `${part.name} ${part.arguments}` : `${part.type} ${part.text}`,
  );
}

describe.each([1, 7, 1000])("in pieces of %i", (size) => {
  test.each([
    ["finalHello!", ["content Hello!"]],
    ["final{}", ["content {}"]],
    ["assistantfinalHello!", ["content Hello!"]],
    ["analysisHm.assistantfinalHello!", ["reasoning Hm.", "content Hello!"]],
    ["analysisThey greet me", ["reasoning They greet me"]],
    ["commentaryOne moment.assistantfinalDone.", ["commentary One moment.", "content Done."]],
    [' to=functions.get_weathercommentary json{"a":1}', ['get_weather {"a":1}']],
    ['commentary to=functions.get_weather json{"a":1}', ['get_weather {"a":1}']],
    [
      'analysisHm.assistant to=functions.get_weathercommentary json{"a":1}',
      ["reasoning Hm.", 'get_weather {"a":1}'],
    ],
    [
      'analysisHm.assistantcommentary to=functions.get_weather json{"a":1}',
      ["reasoning Hm.", 'get_weather {"a":1}'],
    ],
    ["Hello!", ["content Hello!"]],
  ])("%j", (text, expected) => {
    expect(partsOf(text.match(new RegExp(`[^]{1,${size}}`, "g")) ?? [])).toEqual(expected);
  });
});

test("after a header that the gateway opened, the text is its body up to the next header", () => {
  const parser = createParser(o200kHarmony(), OPTIONS);
  const events = [
    ...parser.pushIds(spelledIds("<|channel|>analysis<|message|>")),
    ...["Hm.assis", "tantfinalHel", "lo!"].flatMap((text) => parser.pushText(text)),
    ...parser.end("stop"),
  ];
  expect(toParts(events)).toEqual([
    { type: "reasoning", text: "Hm." },
    { type: "content", text: "Hello!" },
  ]);
});

describe("a header joined to its body is read as a header in text without other headers", () => {
  test.each([
    ["analysisThey greet me", { type: "reasoning", text: "They greet me" }],
    ["assistantanalysis42 is", { type: "reasoning", text: "42 is" }],
    ['final json{"a":1}', { type: "content", text: '{"a":1}' }],
    ["finaljson[]", { type: "content", text: "[]" }],
    [`final json["${"a".repeat(20_000)}"]`, { type: "content", text: `["${"a".repeat(20_000)}"]` }],
    ["analysis of this: done", { type: "content", text: "analysis of this: done" }],
    ["final json is here", { type: "content", text: "final json is here" }],
    ["analysis: done", { type: "content", text: "analysis: done" }],
  ])("%.30s", (text, expected) => {
    const parser = createParser(o200kHarmony());
    const events = [...parser.pushText(text), ...parser.end("stop")];
    expect(toParts(events)).toMatchObject([expected]);
    expect(parser.recoveries.has("lost-markers")).toBe(expected.text !== text);
  });
});
