import * as fc from "fast-check";
import { expect, test } from "vitest";
import { createRenderer, type Layout, type Message } from "../../src/harmony/index.ts";
import { partOf, readIds } from "./parse-cases.ts";

/** Anything a model may say, typed markers included: as ids they are ordinary text. */
const said = fc
  .oneof(
    fc.string({ unit: "grapheme", minLength: 1 }),
    fc.constantFrom(
      "<|end|>",
      "<|start|>user<|message|>",
      "a <|channel|>final b",
      "assistantfinal",
    ),
  )
  .map((text) => text.toWellFormed());
const toolName = fc.constantFrom("f", "get_weather", "search", "search_docs", "loadjson");

const message: fc.Arbitrary<Message> = fc.oneof(
  said.map((content) => ({ role: "assistant" as const, channel: "analysis", content })),
  said.map((content) => ({ role: "assistant" as const, channel: "commentary", content })),
  fc.tuple(toolName, fc.json()).map(([name, value]) => ({
    role: "assistant" as const,
    channel: "commentary",
    recipient: `functions.${name}`,
    contentType: "<|constrain|>json",
    content: `{"value":${value}}`,
  })),
  said.map((content) => ({ role: "assistant" as const, channel: "final", content })),
);

/** After a call, the model itself writes only further calls. */
const messages = fc
  .tuple(fc.array(message, { maxLength: 6 }), fc.array(message, { maxLength: 3 }))
  .map(([before, after]) => [
    ...before.filter(({ recipient }) => recipient === undefined),
    ...after.filter(({ recipient }) => recipient !== undefined),
  ])
  .filter((list) => list.length > 0);

test.each<Layout>(["reference", "guide", "channel-first"])(
  "assistant messages rendered in the %s layout are read back as they were",
  (layout) => {
    const renderer = createRenderer({ layout });
    const opening = renderer.renderStart("assistant").ids.length;
    fc.assert(
      fc.property(messages, (list) => {
        const ids = renderer.renderConversation({ messages: list }).ids.slice(opening);
        const toolNames = ["f", "get_weather", "search", "search_docs", "loadjson"];
        const { parts, recoveries } = readIds(ids, "stop", { toolNames });
        expect({ parts, recoveries }).toEqual({ parts: list.map(partOf), recoveries: [] });
      }),
      { numRuns: 200 },
    );
  },
);
