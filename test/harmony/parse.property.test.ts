import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createParser, type ParseEvent } from "../../src/harmony/index.ts";
import { o200kHarmony, SPECIAL_TOKENS } from "../../src/tokenizer/index.ts";
import { spelledIds } from "../helpers/spelled.ts";
import { cutAt, joinDeltas, read, readCompletionCases, readIds, toPieces } from "./parse-cases.ts";
import type { Feed, Reading } from "./parse-cases.ts";
import { anyCharacter } from "../helpers/any-character.ts";

const cases = readCompletionCases();
const reason = fc.constantFrom("stop" as const, "length" as const);
const options = fc.constantFrom(
  {},
  { toolNames: ["f"] },
  { toolNames: ["get_weather", "search", "search_docs", "Web Search"] },
);
const places = fc.array(fc.nat(10_000), { maxLength: 12 });

/** Parts of valid and broken headers and bodies. */
const words = [
  ..."assistant,user,analysis,commentary,final,comment,assistantfinal, to=, to=functions.,functions.f".split(
    ",",
  ),
  ..."f,search,json, json,code,get_weather,Web Search,browser.search,python,all,to".split(","),
  ...' ,\n,??,{,},],{"a":1},",\\,Hello, there.,I will,é,💖,<,<|,|>,<|en,<|reserved_2'.split(","),
];
const markers = Object.keys(SPECIAL_TOKENS);
const spelledDebris = fc
  .array(
    fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom(...words) },
      {
        weight: 2,
        arbitrary: fc.constantFrom(...markers, "<|reserved_200500|>", "<|endofprompt|>"),
      },
      { weight: 1, arbitrary: fc.string({ unit: anyCharacter, maxLength: 8 }) },
    ),
    { maxLength: 30 },
  )
  .map((fragments) => fragments.join(""));
const anyId = fc.oneof(
  fc.constantFrom(...Object.values(SPECIAL_TOKENS)),
  fc.integer({ min: 0, max: 199_997 }),
  fc.integer({ min: 199_998, max: 201_088 }),
  fc.constantFrom(
    -1,
    -200_006,
    201_089,
    4_294_967_296,
    Number.MAX_SAFE_INTEGER,
    NaN,
    Infinity,
    0.5,
  ),
);
const idDebris = fc
  .array(
    fc.oneof(
      anyId.map((id) => [id]),
      fc.constantFrom(...words, ...markers).map(spelledIds),
    ),
    {
      maxLength: 40,
    },
  )
  .map((lists) => lists.flat());

/** The events without the boundaries of deltas. Throws where events are not well nested. */
function readingOf(
  feed: Feed,
  ...rest: Parameters<typeof read> extends [Feed, ...infer R] ? R : never
) {
  const { parts, finish, events, recoveries, tokens } = read(feed, ...rest);
  return { parts, finish, events: joinDeltas(events), recoveries, tokens };
}

describe("the result does not depend on how the input is split", () => {
  test("any ids", () => {
    fc.assert(
      fc.property(idDebris, places, reason, options, (ids, cuts, end, offered) => {
        const whole = readingOf({ form: "ids", pushes: [ids] }, end, offered);
        const cut = { form: "ids", pushes: cutAt(ids, cuts) } as const;
        const single = { form: "ids", pushes: ids.map((id) => [id]) } as const;
        expect(readingOf(cut, end, offered)).toEqual(whole);
        expect(readingOf(single, end, offered)).toEqual(whole);
      }),
      { numRuns: 400 },
    );
  });

  test("any text", () => {
    fc.assert(
      fc.property(spelledDebris, places, reason, options, (text, cuts, end, offered) => {
        const whole = readingOf({ form: "text", pushes: [text] }, end, offered);
        const cut = { form: "text", pushes: cutAt(text, cuts) } as const;
        const single = { form: "text", pushes: text.split("") } as const;
        expect(readingOf(cut, end, offered)).toEqual(whole);
        expect(readingOf(single, end, offered)).toEqual(whole);
      }),
      { numRuns: 400 },
    );
  });

  test("text that crosses every bound", () => {
    const limits = { maxHeaderLength: 128, maxHeldLength: 200 };
    const runs = [
      "💖".repeat(60),
      " ".repeat(90),
      "word ".repeat(30),
      ` to=functions.${"x".repeat(100)}`,
      "}".repeat(150),
    ];
    const long = fc
      .array(
        fc.oneof(
          { weight: 3, arbitrary: fc.constantFrom(...words) },
          { weight: 3, arbitrary: fc.constantFrom(...markers) },
          { weight: 2, arbitrary: fc.constantFrom(...runs) },
        ),
        { maxLength: 20 },
      )
      .map((fragments) => fragments.join(""));
    fc.assert(
      fc.property(long, places, reason, options, (text, cuts, end, offered) => {
        const bounded = { ...offered, ...limits };
        const whole = readingOf({ form: "text", pushes: [text] }, end, bounded);
        const cut = { form: "text", pushes: cutAt(text, cuts) } as const;
        const single = { form: "text", pushes: text.split("") } as const;
        expect(readingOf(cut, end, bounded)).toEqual(whole);
        expect(readingOf(single, end, bounded)).toEqual(whole);
      }),
      { numRuns: 400 },
    );
  });

  test("arguments longer than what may be held back at their end", () => {
    const runs = fc
      .array(fc.constantFrom('{"a":', "1}", "}", "]", " ".repeat(3000), "}".repeat(3000), "x"), {
        maxLength: 8,
      })
      .map((fragments) => fragments.join(""));
    const header = "<|channel|>commentary to=functions.f<|message|>";
    fc.assert(
      fc.property(runs, places, (text, cuts) => {
        const offered = { toolNames: ["f"] };
        const whole = readingOf({ form: "text", pushes: [header, text] }, "stop", offered);
        const cut = { form: "text", pushes: [header, ...cutAt(text, cuts)] } as const;
        expect(readingOf(cut, "stop", offered)).toEqual(whole);
      }),
      { numRuns: 100 },
    );
  });
});

describe("every prefix and every splice of the cases is parsed", () => {
  test("prefixes", () => {
    for (const { token_ids: ids, raw, tools: toolNames } of cases) {
      for (let length = 0; length <= ids.length; length++) {
        readIds(ids.slice(0, length), "length", { toolNames });
        readIds(ids.slice(0, length), "stop", { toolNames });
      }
      const text = raw ?? "";
      for (let length = 0; length <= text.length; length++) {
        read({ form: "text", pushes: [text.slice(0, length)] }, "length", { toolNames });
      }
    }
    expect(cases.length).toBeGreaterThan(0);
  });

  test("splices", () => {
    const line = fc.constantFrom(...cases);
    fc.assert(
      fc.property(line, line, fc.nat(80), fc.nat(80), reason, (one, other, to, from, end) => {
        const ids = [...one.token_ids.slice(0, to), ...other.token_ids.slice(from)];
        const offered = { toolNames: [...one.tools, ...other.tools] };
        const whole = readIds(ids, end, offered);
        const single = read({ form: "ids", pushes: ids.map((id) => [id]) }, end, offered);
        expect(single).toEqual(whole);
      }),
      { numRuns: 500 },
    );
  });
});

test("emitted events are final: a longer completion only adds to a shorter one", () => {
  fc.assert(
    fc.property(spelledDebris, fc.nat(400), options, (text, length, offered) => {
      const parser = createParser(o200kHarmony(), offered);
      const early = joinDeltas(parser.pushText(text.slice(0, length)));
      const all = joinDeltas([
        ...early,
        ...parser.pushText(text.slice(length)),
        ...parser.end("stop"),
      ]);
      const { events } = read({ form: "text", pushes: [text] }, "stop", offered);
      expect(all).toEqual(joinDeltas(events));
    }),
    { numRuns: 200 },
  );
});

/** Names and texts of the parts. The header's fields are as the model wrote them, `<|constrain|>` included. */
function toShown(events: readonly ParseEvent[]): string {
  return JSON.stringify(events, (key, value: unknown) => (key === "header" ? undefined : value));
}

test("no marker is emitted for ids that do not spell one", () => {
  const plain = words.filter((word) => !/[<|>]/.test(word)).map(spelledIds);
  const special = fc.integer({ min: 199_998, max: 201_100 }).map((id) => [id]);
  const known = fc.constantFrom(...Object.values(SPECIAL_TOKENS)).map((id) => [id]);
  const ids = fc
    .array(fc.oneof(fc.constantFrom(...plain), special, known), { maxLength: 40 })
    .map((lists) => lists.flat());
  fc.assert(
    fc.property(ids, reason, options, (list, end, offered) => {
      const { events } = readIds(list, end, offered);
      expect(toShown(events)).not.toMatch(/<\||\|>/);
    }),
    { numRuns: 400 },
  );
});

test("no marker is emitted from text, whatever the context", () => {
  const plain = words.filter((word) => !/[<|>]/.test(word));
  const text = fc
    .array(fc.constantFrom(...plain, ...markers, "<|reserved_200500|>"), { maxLength: 40 })
    .map((fragments) => fragments.join(""));
  fc.assert(
    fc.property(text, reason, options, (debris, end, offered) => {
      const { events } = read({ form: "text", pushes: [debris] }, end, offered);
      expect(toShown(events)).not.toMatch(/<\||\|>/);
    }),
    { numRuns: 400 },
  );
});

describe("well-formed completions", () => {
  /** Text without markers, and without white space at its edges, which arguments lose. */
  const said = fc
    .array(
      fc.oneof(
        fc.constantFrom(...words.filter((word) => !word.includes("<"))),
        fc.string({ unit: "grapheme" }),
      ),
      {
        minLength: 1,
        maxLength: 6,
      },
    )
    .map((fragments) => fragments.join("").toWellFormed())
    .filter((text) => text.trim() === text && text !== "" && !/<\||\|>/.test(text));
  const message = fc.oneof(
    said.map((text) => ({ header: "<|channel|>analysis", part: { type: "reasoning", text } })),
    said.map((text) => ({ header: "<|channel|>commentary", part: { type: "commentary", text } })),
    fc.json({ maxDepth: 2 }).map((value) => ({
      header: " to=functions.f<|channel|>commentary <|constrain|>json",
      part: { type: "tool_call", name: "f", arguments: `{"a":${value}}` },
    })),
  );
  const completion = fc.tuple(fc.array(message, { maxLength: 5 }), said);

  test("are parsed as written, in every form, without repairs", () => {
    fc.assert(
      fc.property(completion, places, ([messages, answer], cuts) => {
        const final = { header: "<|channel|>final", part: { type: "content", text: answer } };
        const text = [...messages, final]
          .map(({ header, part }) => {
            const body = "text" in part ? part.text : part.arguments;
            return `${header}<|message|>${body}`;
          })
          .join("<|end|><|start|>assistant");
        const ids = spelledIds(`${text}<|return|>`);
        const offered = { toolNames: ["f"] };
        const expected = [...messages, final].map(({ part }) => part);
        const feeds: Feed[] = [
          { form: "ids", pushes: cutAt(ids, cuts) },
          { form: "text", pushes: cutAt(`${text}<|return|>`, cuts) },
          { form: "pieces", pushes: cutAt(toPieces(ids), cuts) },
        ];
        for (const feed of feeds) {
          const reading: Reading = read(feed, "stop", offered);
          expect({ parts: reading.parts, recoveries: reading.recoveries }).toEqual({
            parts: expected,
            recoveries: [],
          });
        }
      }),
      { numRuns: 150 },
    );
  });
});

describe("memory is bounded: text is emitted or dropped", () => {
  const endless = 300_000;
  const header = "<|channel|>commentary to=functions.f<|message|>";

  test.each([
    ["an answer without header", ""],
    ["analysis", "<|channel|>analysis<|message|>"],
    ["a header", "<|channel|>analysis "],
    ["a header of a call", "<|channel|>commentary to=functions.f "],
    ["a header of a name without end", "<|channel|>commentary to=functions."],
    ["text between messages", "<|channel|>analysis<|message|>x<|end|>"],
    ["arguments", `${header}{"a":"`],
    ["arguments that are no JSON", header],
    ["a call after a call", `${header}{}<|call|><|start|>assistant${header}{"a":"`],
    ["what looks like stripped markers", "analysisWe "],
  ])("%s", (_, beginning) => {
    const parser = createParser(o200kHarmony(), { toolNames: ["f"] });
    const events = [beginning, ..."word ".repeat(endless / 5).match(/.{1,50}/g)!].flatMap((text) =>
      parser.pushText(text),
    );
    const given = events.reduce((sum, event) => sum + ("text" in event ? event.text.length : 0), 0);
    expect(given).toBeGreaterThan(endless - 1000);
  });

  test.each([
    ["brackets behind arguments", `${header}{}`, "}"],
    ["white space in arguments", `${header}x`, " "],
    ["open brackets", header, "["],
  ])("%s", (_, beginning, flood) => {
    const parser = createParser(o200kHarmony(), { toolNames: ["f"] });
    parser.pushText(beginning);
    const events = flood
      .repeat(endless)
      .match(/.{1,50}/g)!
      .flatMap((text) => parser.pushText(text));
    const given = events.reduce((sum, event) => sum + ("text" in event ? event.text.length : 0), 0);
    expect(given).toBeGreaterThan(endless - 5000);
  });

  test.each([
    "<|channel|>",
    "<|constrain|>",
    "<|start|>",
    "<|message|>",
    "<|end|>",
    "<|start|>assistant x",
  ])("a flood of %s ends in time", (flood) => {
    const reading = read({ form: "text", pushes: Array.from({ length: 20_000 }, () => flood) });
    expect(reading.finish).toBe("stop");
  });
});
