import { describe, expect, test } from "vitest";
import {
  createParser,
  type ParseEvent,
  type Parser,
  toFinishReason,
} from "../../src/harmony/index.ts";
import { o200kHarmony, SPECIAL_TOKENS } from "../../src/tokenizer/index.ts";
import { spelledIds } from "../helpers/spelled.ts";
import {
  joinDeltas,
  read,
  readCompletionCases,
  readIds,
  readText,
  toParts,
  toPieces,
} from "./parse-cases.ts";
import type { CompletionCase, Feed } from "./parse-cases.ts";

const cases = readCompletionCases();
const { "<|message|>": MESSAGE, "<|end|>": END, "<|call|>": CALL } = SPECIAL_TOKENS;

test("the file has the expected number of cases", () => {
  expect(cases).toHaveLength(138);
});

describe("harmony-completions.jsonl", () => {
  test.each(cases)("$id $class", (line) => {
    const { parts, finish } = line.expected;
    for (const feed of toFeeds(line)) {
      const reading = read(feed, line.upstream_finish, { toolNames: line.tools });
      expect({ form: feed.form, parts: reading.parts, finish: reading.finish }).toEqual({
        form: feed.form,
        parts,
        finish,
      });
    }
  });

  test.each(cases.filter(({ kind }) => kind === "wellformed"))("$id needs no repair", (line) => {
    const { recoveries } = readIds(line.token_ids, line.upstream_finish, { toolNames: line.tools });
    expect(recoveries).toEqual([]);
  });
});

function toFeeds(line: CompletionCase): Feed[] {
  const { token_ids: ids, raw, mode } = line;
  const pieces = toPieces(ids);
  return [
    { form: "ids", pushes: [ids] },
    { form: "ids", pushes: ids.map((id) => [id]) },
    { form: "pieces", pushes: [pieces] },
    { form: "pieces", pushes: pieces.map((piece) => [piece]) },
    ...(mode === "text" && raw !== null
      ? ([
          { form: "text", pushes: [raw] },
          { form: "text", pushes: raw.split("") },
        ] as const)
      : []),
  ];
}

describe("the events of a push", () => {
  test("a part begins with the id that ends its header", () => {
    const parser = createParser(o200kHarmony(), { toolNames: ["f"] });
    expect(parser.pushIds(spelledIds("<|channel|>analysis"))).toEqual([]);
    expect(parser.pushIds([MESSAGE])).toMatchObject([{ type: "part-start", part: "reasoning" }]);
    expect(parser.pushIds([END])).toEqual([{ type: "part-end" }]);
    expect(parser.pushIds(spelledIds("<|start|>assistant to=functions.f"))).toEqual([]);
    expect(parser.pushIds(spelledIds("<|channel|>commentary <|constrain|>json"))).toEqual([]);
    expect(parser.pushIds([MESSAGE])).toMatchObject([
      { type: "part-start", part: "tool-call", name: "f" },
    ]);
  });

  test("many ids make one delta", () => {
    const parser = createParser(o200kHarmony());
    parser.pushIds(spelledIds("<|channel|>final<|message|>"));
    expect(parser.pushIds(spelledIds("A few words of an answer"))).toEqual([
      { type: "part-delta", text: "A few words of an answer" },
    ]);
  });

  test("a split character is emitted when it is complete", () => {
    const parser = createParser(o200kHarmony());
    parser.pushIds(spelledIds("<|channel|>final<|message|>"));
    const ids = o200kHarmony().encode("🧑‍🚀");
    const texts = ids.map((id) =>
      parser.pushIds([id]).map((event) => "text" in event && event.text),
    );
    expect(texts.flat().join("")).toBe("🧑‍🚀");
    expect(texts.filter((text) => text.length === 0).length).toBeGreaterThan(0);
  });

  test("a push after the end returns no events", () => {
    const parser = createParser(o200kHarmony());
    parser.end("stop");
    expect(parser.pushIds(spelledIds("<|channel|>final<|message|>x"))).toEqual([]);
    expect(parser.pushText("x")).toEqual([]);
    expect(parser.pushPieces([{ text: "x" }])).toEqual([]);
    expect(parser.end("stop")).toEqual([]);
  });
});

test("the incomplete character of earlier ids is emitted before the following text", () => {
  const parser = createParser(o200kHarmony());
  const [halfCharacter = 0] = o200kHarmony().encode("\u{13000}");
  const events = [
    ...parser.pushText("<|channel|>final<|message|>"),
    ...parser.pushIds([halfCharacter]),
    ...parser.pushPieces([{ text: "behind" }]),
    ...parser.end("stop"),
  ];
  expect(joinDeltas(events)).toContainEqual({ type: "part-delta", text: "\uFFFDbehind" });
});

describe("text keeps its position between ids", () => {
  const encode = (text: string) => o200kHarmony().encode(text);
  const contentOf = (push: (parser: Parser) => ParseEvent[]) => {
    const parser = createParser(o200kHarmony());
    const events = [...push(parser), ...parser.end("stop")];
    return toParts(events);
  };

  test("after an undecided spelled marker", () => {
    const parts = contentOf((parser) => [
      ...parser.pushIds(encode("Thinking.<|end|> one")),
      ...parser.pushText(" two <|start|>assistant<|channel|>final<|message|>Hello"),
    ]);
    expect(parts).toEqual([
      { type: "reasoning", text: "Thinking." },
      { type: "reasoning", text: "one two" },
      { type: "content", text: "Hello" },
    ]);
  });

  test("before ids where it may begin a marker", () => {
    const parts = contentOf((parser) => [
      ...parser.pushIds(spelledIds("<|channel|>final<|message|>")),
      ...parser.pushText("a <"),
      ...parser.pushIds(encode("b")),
      ...parser.pushText("<"),
      ...parser.pushPieces([{ text: "c" }]),
    ]);
    expect(parts).toEqual([{ type: "content", text: "a <b<c" }]);
  });
});

describe("the parser's position", () => {
  test("begins in the header that the prompt opened", () => {
    const parser = createParser(o200kHarmony());
    expect([parser.position, parser.openPart, parser.done]).toEqual(["header", undefined, false]);
  });

  test("follows the messages", () => {
    const parser = createParser(o200kHarmony(), { toolNames: ["f"] });
    const seen = [
      "<|channel|>",
      "analysis<|message|>",
      "hm<|end|>",
      "<|start|>",
      "assistant<|channel|>commentary to=functions.f<|message|>",
      "{}<|call|>",
    ].map((text) => {
      parser.pushText(text);
      return [parser.position, parser.openPart];
    });
    expect(seen).toEqual([
      ["header", undefined],
      ["body", "reasoning"],
      ["between", undefined],
      ["header", undefined],
      ["body", "tool-call"],
      ["between", undefined],
    ]);
  });

  test.each([
    ["an answer and the end of the turn", "<|channel|>final<|message|>x<|return|>", true],
    ["an answer and padding", "<|channel|>final<|message|>x<|endoftext|>", true],
    ["an answer that may be followed by more", "<|channel|>final<|message|>x<|end|>", false],
    ["an answer without any header", "Four.<|return|>", true],
    [
      "a call closed like the end of the turn",
      "<|channel|>commentary to=f<|message|>{}<|return|>",
      true,
    ],
    [
      "a call, which another one may follow",
      "<|channel|>commentary to=f<|message|>{}<|call|>",
      false,
    ],
    ["a word after a call", "<|channel|>commentary to=f<|message|>{}<|call|>commentary", true],
    [
      "analysis that ends with the stop token of a turn",
      "<|channel|>analysis<|message|>x<|return|>",
      false,
    ],
    ["an answer of no words", "<|channel|>final<|message|> <|return|>", false],
    ["a message in the user's name", "<|start|>user<|message|>", true],
  ])("whether the turn is over after %s", (_, text, done) => {
    const parser = createParser(o200kHarmony(), { toolNames: ["f"] });
    parser.pushText(text);
    expect(parser.done).toBe(done);
  });

  test("the turn may write a header of its own, in ids, whatever the engine sends", () => {
    const parser = createParser(o200kHarmony());
    parser.pushText("<|channel|>analysis<|message|>Too long<|end|><|start|>assistant");
    expect(parser.pushIds(spelledIds("<|channel|>final<|message|>"))).toMatchObject([
      { type: "part-start", part: "content" },
    ]);
    expect(parser.pushText("Four.")).toEqual([{ type: "part-delta", text: "Four." }]);
    expect(parser.pushText("<|return|>")).toEqual([{ type: "part-end" }]);
  });
});

describe("tokens by part", () => {
  const completion =
    "<|channel|>analysis<|message|>One two three<|end|><|start|>assistant<|channel|>commentary" +
    "<|message|>Let me see.<|end|><|start|>assistant<|channel|>commentary to=functions.f<|message|>" +
    '{"a":1}<|end|><|start|>assistant<|channel|>final<|message|>Yes<|return|>';
  const counts = (...texts: string[]) => texts.map((text) => spelledIds(text).length);
  const [reasoning, preamble, toolCall, content] = counts(
    "One two three",
    "Let me see.",
    '{"a":1}',
    "Yes",
  );

  test("bodies count, headers and markers do not", () => {
    const { tokens } = readIds(spelledIds(completion), "stop", { toolNames: ["f"] });
    expect(tokens).toEqual({ reasoning, preamble, toolCall, content, builtinCall: 0 });
  });

  test("text and pieces are not counted", () => {
    const nothing = { reasoning: 0, preamble: 0, toolCall: 0, builtinCall: 0, content: 0 };
    const pieces = toPieces(spelledIds(completion));
    expect(readText(completion, "stop", { toolNames: ["f"] }).tokens).toEqual(nothing);
    expect(read({ form: "pieces", pushes: [pieces] }).tokens).toEqual(nothing);
  });

  test("a body joined to its header is counted with it", () => {
    const ids = spelledIds("<|channel|>analysis Hm hm hm<|end|>");
    expect(readIds(ids).tokens.reasoning).toBe(ids.length - 2);
  });

  test("text outside messages counts as what it turned out to be", () => {
    const analysis = "<|channel|>analysis<|message|>x<|end|>";
    const outside = spelledIds(" more text").length;
    const answer = "<|start|>assistant<|channel|>final<|message|>y<|return|>";
    expect(readIds(spelledIds(`${analysis} more text`)).tokens).toMatchObject({ content: outside });
    expect(readIds(spelledIds(`${analysis} more text${answer}`)).tokens).toMatchObject({
      reasoning: 1 + outside,
      content: 1,
    });
  });

  test("ids before a lost header are counted the same however the following text is split", () => {
    const ids = o200kHarmony().encode("analysisThey greet me.");
    const text = "assistantfinalHelloassistantfinal";
    const countCut = (pushes: readonly string[]) => {
      const parser = createParser(o200kHarmony());
      parser.pushIds(ids);
      for (const each of pushes) parser.pushText(each);
      parser.end("stop");
      return parser.tokens;
    };
    const expected = {
      reasoning: ids.length,
      preamble: 0,
      toolCall: 0,
      builtinCall: 0,
      content: 0,
    };
    expect(countCut([text])).toEqual(expected);
    expect(countCut(text.split(""))).toEqual(expected);
  });
});

describe("markers spelled with ordinary tokens", () => {
  const encode = (text: string) => o200kHarmony().encode(text);

  test("are text once a special token has come", () => {
    const ids = [...spelledIds("<|channel|>final<|message|>"), ...encode("Write <|end|> there.")];
    expect(readIds(ids).parts).toEqual([{ type: "content", text: "Write <|end|> there." }]);
  });

  test("are structure if there are no special tokens, and deltas are not held back", () => {
    const parser = createParser(o200kHarmony());
    parser.pushIds(encode("<|channel|>final<|message|>"));
    expect(parser.pushIds(encode("Hello"))).toEqual([{ type: "part-delta", text: "Hello" }]);
  });

  test("are structure where a header is expected, even if the end is a special token", () => {
    const { parts } = readIds([...encode("<|channel|>final<|message|>Hello"), 200002]);
    expect(parts).toEqual([{ type: "content", text: "Hello" }]);
  });

  test("are text in an answer without header when a special token ends it", () => {
    const json = '{"say":"<|end|> ends a message"}';
    expect(readIds([...encode(json), 200002]).parts).toEqual([{ type: "content", text: json }]);
  });

  test("are structure after other text if no special token comes", () => {
    const ids = encode(
      "Thinking.<|end|><|start|>assistant<|channel|>final<|message|>Hello<|return|>",
    );
    expect(readIds(ids).parts).toEqual([
      { type: "reasoning", text: "Thinking." },
      { type: "content", text: "Hello" },
    ]);
  });

  test("are structure after other text if too much follows", () => {
    const parser = createParser(o200kHarmony(), { maxHeldLength: 500 });
    parser.pushIds(encode("Thinking.<|end|><|start|>assistant<|channel|>final<|message|>"));
    const events = parser.pushIds(encode("word ".repeat(200)));
    expect(events.slice(0, 4)).toMatchObject([
      { type: "part-start", part: "reasoning" },
      { type: "part-delta", text: "Thinking." },
      { type: "part-end" },
      { type: "part-start", part: "content" },
    ]);
  });

  test("are text in pieces that name special tokens by id", () => {
    const pieces = [
      { special: SPECIAL_TOKENS["<|channel|>"] },
      { text: "final" },
      { special: MESSAGE },
      { text: "a <|end|> b" },
    ];
    const { parts } = read({ form: "pieces", pushes: [pieces] });
    expect(parts).toEqual([{ type: "content", text: "a <|end|> b" }]);
  });
});

describe("a call after a call", () => {
  const toolNames = ["f", "g"];
  const first = "<|channel|>commentary to=functions.f<|message|>{}<|call|>";
  const second = "<|start|>assistant<|channel|>commentary to=functions.g<|message|>";
  const call = (name: string, text: string) => ({ type: "tool_call", name, arguments: text });

  test("is emitted when it is complete, not before", () => {
    const parser = createParser(o200kHarmony(), { toolNames });
    parser.pushText(first);
    expect(parser.pushText(`${second}{"a":1}`)).toEqual([]);
    expect([parser.position, parser.openPart]).toEqual(["body", undefined]);
    expect(parser.pushText("<|call|>")).toMatchObject([
      { type: "part-start", part: "tool-call", name: "g" },
      { type: "part-delta", text: '{"a":1}' },
      { type: "part-end" },
    ]);
  });

  test("is dropped if it was truncated", () => {
    expect(readText(`${first}${second}{"a":`, "length", { toolNames }).parts).toEqual([
      call("f", "{}"),
    ]);
  });

  test("counts as complete if it was truncated after its arguments", () => {
    expect(readText(`${first}${second}{"a":1}`, "length", { toolNames }).parts).toEqual([
      call("f", "{}"),
      call("g", '{"a":1}'),
    ]);
  });

  test("is emitted unfinished when it exceeds what may be held back", () => {
    const parser = createParser(o200kHarmony(), { toolNames, maxHeldLength: 500 });
    parser.pushText(first);
    const events = parser.pushText(`${second}{"a":"${"x".repeat(1000)}`);
    expect(events[0]).toMatchObject({ type: "part-start", part: "tool-call", name: "g" });
  });
});

test("arguments that were cut off before they began are not invented", () => {
  const header = "<|channel|>commentary to=functions.f<|message|>";
  const call = (text: string) => [{ type: "tool_call", name: "f", arguments: text }];
  const options = { toolNames: ["f"] };
  expect(readText(header, "length", options).parts).toEqual(call(""));
  expect(readText(header, "stop", options).parts).toEqual(call("{}"));
  expect(readIds([...spelledIds(header), CALL], "stop", options).parts).toEqual(call("{}"));
});

test.each([
  ["stop", false, "stop"],
  ["stop", true, "tool-calls"],
  ["length", true, "length"],
] as const)("an engine's %s with calls: %s finishes as %s", (reason, hasToolCall, finish) => {
  expect(toFinishReason(reason, hasToolCall)).toBe(finish);
});

test.each([
  ["<|channel|>commentary to=functions.f <|constrain|>json", "channel-first"],
  [" to=functions.f<|channel|>commentary <|constrain|>json", "recipient-first"],
  ["assistant to=functions.f<|channel|>commentary <|constrain|>json", "recipient-first"],
])("a part has the fields of its header, and its order: %s, %s", (text, order) => {
  const parser = createParser(o200kHarmony(), { toolNames: ["f"] });
  const [start] = parser.pushText(`${text}<|message|>{}`);
  const header = { recipient: "functions.f", contentType: "<|constrain|>json", order };
  expect(start).toEqual({
    type: "part-start",
    part: "tool-call",
    name: "f",
    header: { channel: "commentary", ...header },
  });
});

test.each([
  "<|channel|>commentary <|constrain|>json to=functions.f",
  "<|channel|>commentary  to=functions.f json",
  "<|channel|>commentary",
])("a header that would be written in another way has no order: %s", (text) => {
  const parser = createParser(o200kHarmony(), { toolNames: ["f"] });
  const [start] = parser.pushText(`${text}<|message|>{}`);
  expect(start).toMatchObject({ type: "part-start", header: { channel: expect.anything() } });
  expect(start).not.toMatchObject({ header: { order: expect.anything() } });
});
