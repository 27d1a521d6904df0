/** Random documents that the format can hold. */
import * as fc from "fast-check";
import type { Document, DocumentHeader, HeaderValue, Message } from "../../src/openchatml/index.ts";

/** Text with what is read as something else when it is not escaped. */
const spelled = fc.constantFrom(
  "<",
  "<<",
  "|",
  "<|end|>",
  "<<|start|>",
  "<|literal|>",
  "<|endliteral|>",
  "<|end",
  "<|im_start|>",
  "\n\n",
  "\r",
  "é😀",
);
export const bodyText = fc
  .array(fc.oneof(spelled, fc.string({ unit: "grapheme", maxLength: 5 })), { maxLength: 8 })
  .map((pieces) => pieces.join(""));

const word = fc
  .array(fc.oneof(fc.constantFrom("<", "<|end|>", "=", "é"), fc.string({ maxLength: 4 })), {
    minLength: 1,
    maxLength: 4,
  })
  .map((pieces) => pieces.join("").replaceAll(/[\s\p{Cc}]/gu, ""))
  .filter((text) => text !== "");

const json = fc.dictionary(fc.string(), fc.oneof(bodyText, fc.integer())).map((value) => {
  return JSON.stringify(value);
});

const optional = <K extends string, T>(key: K, values: fc.Arbitrary<T>) =>
  fc.option(values, { nil: undefined }).map((value) => {
    const entry: Partial<Record<K, T>> = {};
    if (value !== undefined) entry[key] = value;
    return entry;
  });

const hints = fc
  .tuple(
    optional("name", word),
    optional("intent", fc.oneof(fc.constantFrom("preamble", "status"), word)),
    optional("contentType", word),
  )
  .map(([name, intent, contentType]) => ({ ...name, ...intent, ...contentType }));

const instruction: fc.Arbitrary<Message> = fc
  .tuple(fc.constantFrom("system", "developer", "user"), hints, bodyText)
  .map(([role, rest, content]) => ({
    role,
    ...rest,
    channel: "final",
    implicitChannel: true,
    content,
    end: "end",
  }));

const said: fc.Arbitrary<Message> = fc
  .tuple(
    hints,
    fc.constantFrom("analysis", "commentary", "final"),
    fc.constantFrom("end", "return"),
    fc.oneof(
      fc.record({ content: bodyText }),
      fc.record({ constrain: fc.constant("json"), content: json }),
    ),
  )
  .map(([rest, channel, end, body]) => ({ role: "assistant", ...rest, channel, ...body, end }));

const tool = fc.oneof(
  word.map((name) => `functions.${name}`),
  fc.constantFrom("python", "browser.open"),
);

/** A call and its reply. The ids are put in later. */
const exchange: fc.Arbitrary<readonly Message[]> = fc
  .tuple(tool, json, bodyText, fc.boolean())
  .map(([name, args, reply, constrained]) => [
    {
      role: "assistant",
      to: name,
      channel: "commentary",
      ...(constrained && { constrain: "json" }),
      content: args,
      end: "call",
    },
    { role: "tool", name, to: "assistant", channel: "commentary", content: reply, end: "end" },
  ]);

const scalar: fc.Arbitrary<HeaderValue> = fc.oneof(
  fc.string({ unit: "grapheme" }),
  fc.constantFrom("true", "null", "2.2", "- a", "a: b", "a #b", "'", '"', "[", "<|start|>", "\n"),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0),
  fc.boolean(),
  fc.constant(null),
);
const value = fc.letrec<{ value: HeaderValue; map: HeaderValue }>((tie) => ({
  value: fc.oneof({ depthSize: "small" }, scalar, fc.array(tie("value")), tie("map")),
  map: fc.dictionary(
    fc.oneof(
      fc.string({ minLength: 1 }),
      fc.constantFrom("a b", "---", "<|start|>", "a:", "__proto__"),
    ),
    tie("value"),
  ),
})).value;

const header: fc.Arbitrary<DocumentHeader | null> = fc.option(
  fc
    .dictionary(fc.stringMatching(/^[a-z_]{1,8}$/), value)
    .map((rest) => ({ version: "2.2", ...rest, profiles: {} })),
);

export const documents: fc.Arbitrary<Document> = fc
  .tuple(
    header,
    fc.array(
      fc.oneof(
        instruction.map((each) => [each]),
        said.map((each) => [each]),
        exchange,
      ),
    ),
  )
  .map(([head, groups]) => ({
    header: head,
    messages: groups.flatMap((group, index) =>
      group.map((each) => (group.length === 2 ? { ...each, callId: `id<${index}` } : each)),
    ),
  }));
