import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  createOpenChatMLStream,
  type Document,
  fromHarmony,
  OpenChatMLError,
  parseOpenChatML,
  renderOpenChatML,
  type StreamEvent,
  toHarmony,
} from "../../src/openchatml/index.ts";
import { bodyText, documents } from "./arbitraries.ts";

const withoutWarnings = ({ header, messages }: Document) => ({ header, messages });

describe("any document", () => {
  test("can be parsed from its rendered text", () => {
    fc.assert(
      fc.property(documents, (document) => {
        const text = renderOpenChatML(document);
        const parsed = withoutWarnings(parseOpenChatML(text));
        expect(parsed).toEqual(document);
        expect(renderOpenChatML(parsed)).toBe(text);
      }),
      { numRuns: 1000 },
    );
  });

  test("is parsed to the same events however it is split", () => {
    fc.assert(
      fc.property(
        documents,
        fc.infiniteStream(fc.integer({ min: 1, max: 30 })),
        (document, sizes) => {
          const text = renderOpenChatML(document);
          expect(bodiesOf(read(cut(text, sizes)))).toEqual(bodiesOf(read([text])));
        },
      ),
    );
  });

  test("keeps its roles, texts and calls through Harmony", () => {
    fc.assert(
      fc.property(documents, (document) => {
        const { messages } = toHarmony(document);
        const back = fromHarmony(messages, { header: null }).document;
        expect(back.messages.map(({ role, to, content }) => ({ role, to, content }))).toEqual(
          document.messages.map(({ role, to, content }) => ({ role, to, content })),
        );
      }),
    );
  });
});

test("no body, however it ends, swallows the next message", () => {
  fc.assert(
    fc.property(bodyText, fc.constantFrom("", "<", "<<", "<|", "<|end", "<|end|"), (text, tail) => {
      const said = { role: "user", channel: "final", implicitChannel: true, end: "end" } as const;
      const messages = [
        { ...said, content: text + tail },
        { ...said, content: "next" },
      ];
      const parsed = parseOpenChatML(renderOpenChatML({ header: null, messages }));
      expect(parsed.messages).toEqual(messages);
    }),
    { numRuns: 2000 },
  );
});

describe("any text", () => {
  const pieces = fc.constantFrom(
    "<|start|>",
    "<|message|>",
    "<|channel|>",
    "<|constrain|>",
    "<|end|>",
    "<|call|>",
    "<|return|>",
    "<|literal|>",
    "<|endliteral|>",
    "<",
    "user",
    "assistant",
    " to=functions.f",
    " call_id=a",
    "final",
    "version: 2.2\n",
    "---\n",
    "<|im_start|>",
    "<|im_end|>",
    "{}",
    " ",
    "\n",
  );
  const texts = fc
    .array(fc.oneof(pieces, fc.string({ maxLength: 3 })), { maxLength: 20 })
    .map((each) => each.join(""));

  test("is parsed to a document or to an error with a position", () => {
    fc.assert(
      fc.property(texts, (text) => {
        const { offset = 0, messageIndex = 0 } = errorOf(text) ?? {};
        expect(offset).toBeLessThanOrEqual(new TextEncoder().encode(text).length);
        expect(messageIndex).toBeGreaterThanOrEqual(0);
      }),
      { numRuns: 3000 },
    );
  });

  test("is streamed the same however it is split", () => {
    fc.assert(
      fc.property(texts, (text) => {
        expect(bodiesOf(read(Array.from(text)))).toEqual(bodiesOf(read([text])));
      }),
      { numRuns: 1000 },
    );
  });
});

test("an error contains the message's index and the byte offset", () => {
  const text = "<|start|>user<|message|>é😀<|end|>\n<|start|>robot<|message|>x<|end|>";
  const at = new TextEncoder().encode(text.slice(0, text.indexOf("<|message|>x"))).length;
  expect(() => parseOpenChatML(text)).toThrow(
    expect.objectContaining({ code: "E-PARSE-HEADER", offset: at, messageIndex: 1 }),
  );
});

test("a generated id is never one that appears later in the text", () => {
  const call = "<|channel|>commentary<|constrain|>json<|message|>{}<|call|>";
  const text = `<|start|>assistant to=functions.f${call}<|start|>assistant to=functions.f call_id=call_1${call}`;
  const { messages } = parseOpenChatML(text, { hip1: true });
  expect(messages.map(({ callId }) => callId)).toEqual(["call_2", "call_1"]);
});

function errorOf(text: string): OpenChatMLError | undefined {
  try {
    parseOpenChatML(text);
    return undefined;
  } catch (error) {
    if (error instanceof OpenChatMLError) return error;
    throw error;
  }
}

function* cut(text: string, sizes: Iterable<number>): Generator<string> {
  let from = 0;
  for (const size of sizes) {
    if (from >= text.length) return;
    yield text.slice(from, from + size);
    from += size;
  }
}

function read(chunks: Iterable<string>): StreamEvent[] {
  const stream = createOpenChatMLStream();
  const events = [...chunks].flatMap((chunk) => stream.push(chunk));
  return [...events, ...stream.end()];
}

/** The events with deltas joined, and errors by what they say. */
function bodiesOf(events: readonly StreamEvent[]): unknown[] {
  const joined: unknown[] = [];
  let text = "";
  for (const event of events) {
    if (event.type === "response.delta" || event.type === "message.delta") {
      text += event.text;
      continue;
    }
    joined.push(text, event.type === "error" ? event.error.message : event);
    text = "";
  }
  return [...joined, text];
}
