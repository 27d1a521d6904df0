import { describe, expect, test } from "vitest";
import {
  createOpenChatMLStream,
  fromHarmony,
  keptForSampling,
  OpenChatMLError,
  parseOpenChatML,
  readToolReply,
  renderOpenChatML,
  type StreamEvent,
  type StreamOptions,
  toChatMessages,
  toHarmony,
  toJsonMessages,
  viewOpenChatML,
} from "../../src/openchatml/index.ts";
import { toConversation } from "../harmony/render-cases.ts";
import { type Case, readCases, toDocument, toRawMessage, withoutUnset } from "./cases.ts";

const cases = readCases();
const ofKind = (kind: Case["kind"]) => cases.filter((line) => line.kind === kind);

test("the file has the expected number of cases", () => {
  const kinds = Map.groupBy(cases, ({ kind }) => kind);
  expect(Object.fromEntries([...kinds].map(([kind, lines]) => [kind, lines.length]))).toEqual({
    parse: 52,
    render: 29,
    error: 44,
    "to-harmony": 14,
    "from-harmony": 11,
    stream: 7,
  });
});

describe("parse", () => {
  test.each(ofKind("parse"))("$id: $note", ({ input, expected }) => {
    const parsed = parseOpenChatML(input.text ?? "", defined(input.options));
    expect({
      header: parsed.header,
      messages: parsed.messages.map(toRawMessage),
      warnings: parsed.warnings.map(({ code }) => code),
    }).toEqual(expected);
  });

  test.each(ofKind("parse"))("$id: rendered and parsed again it is the same", ({ input }) => {
    const { header, messages } = parseOpenChatML(input.text ?? "", defined(input.options));
    const text = renderOpenChatML({ header, messages });
    expect(parseOpenChatML(text)).toMatchObject({ header, messages });
    expect(renderOpenChatML(parseOpenChatML(text))).toBe(text);
  });
});

describe("render", () => {
  test.each(ofKind("render"))("$id: $note", ({ input, expected }) => {
    expect(rendered(input)).toEqual(expected);
  });

  test.each(ofKind("render").filter(({ input }) => input.form === "text" && !input.options.mode))(
    "$id: parsed it is the document",
    ({ input }) => {
      const document = documentOf(input);
      expect(parseOpenChatML(renderOpenChatML(document))).toMatchObject(document);
    },
  );
});

describe("to Harmony", () => {
  test.each(ofKind("to-harmony"))("$id: $note", ({ input, expected, conversationText }) => {
    const { mode } = input.options;
    const result = toHarmony(parseOpenChatML(input.text ?? ""), {
      ...(mode === "prompt" && { mode }),
    });
    expect(withoutUnset(result.messages)).toEqual(
      withoutUnset(toConversation(conversationText).messages),
    );
    expect(result.lossy).toEqual(expected["lossy"]);
  });
});

describe("from Harmony", () => {
  test.each(ofKind("from-harmony"))("$id: $note", ({ input, expected, conversationText }) => {
    const { messages } = toConversation(conversationText);
    const { header, lenient = false } = input.options;
    const { document, lossy } = fromHarmony(messages, {
      ...(header !== undefined && { header }),
      lenient,
    });
    expect({ text: renderOpenChatML(document), lossy }).toEqual(expected);
  });
});

describe("errors", () => {
  test.each(ofKind("error"))("$id: $note", (line) => {
    expect(errorOf(line)).toBe(line.expected["error"]);
  });
});

describe("streams", () => {
  test.each(ofKind("stream"))("$id: $note", ({ input, expected }) => {
    expect(eventsOf(input.chunks ?? [], input.options)).toEqual(expected["events"]);
  });

  test.each(ofKind("stream"))("$id: cut anywhere it is the same", ({ input, expected }) => {
    const text = (input.chunks ?? []).join("");
    expect(eventsOf(Array.from(text), input.options)).toEqual(expected["events"]);
    for (let cut = 0; cut <= text.length; cut++) {
      const chunks = [text.slice(0, cut), text.slice(cut)];
      expect(eventsOf(chunks, input.options)).toEqual(expected["events"]);
    }
  });
});

type Input = Case["input"];

function documentOf(input: Input) {
  if (input.document) return toDocument(input.document);
  return parseOpenChatML(input.text ?? "");
}

function rendered(input: Input): object {
  const { mode, debug, channels, hip1 } = input.options;
  switch (input.form) {
    case "text": {
      const modes = mode === undefined || mode === "prompt" ? {} : { mode };
      return { text: renderOpenChatML(documentOf(input), modes) };
    }
    case "view": {
      const shown = viewOpenChatML(documentOf(input), defined({ debug, channels }));
      return { shown: shown.map(({ role, channel, content }) => ({ role, channel, content })) };
    }
    case "sampling":
      return { kept: keptForSampling(documentOf(input), defined({ hip1 })) };
    case "json":
      return { json: toJsonMessages(documentOf(input)) };
    case "chat":
      return { messages: toChatMessages(documentOf(input)) };
    default:
      return readToolReply(input.body ?? "");
  }
}

function errorOf(line: Case): string | undefined {
  try {
    const last = attempt(line).at(-1);
    return last?.type === "error" ? last.error.code : undefined;
  } catch (error) {
    if (error instanceof OpenChatMLError) return error.code;
    throw error;
  }
}

/** Runs the operation, which should fail. Returns the events of a stream. */
function attempt({ input, conversationText }: Case): readonly StreamEvent[] {
  switch (input.op) {
    case "render":
      renderOpenChatML(documentOf(input));
      return [];
    case "view":
      viewOpenChatML(documentOf(input), defined(input.options));
      return [];
    case "from-harmony":
      fromHarmony(toConversation(conversationText).messages);
      return [];
    case "stream":
      return eventsOf(input.chunks ?? [], input.options);
    default:
      parseOpenChatML(input.text ?? "", defined(input.options));
      return [];
  }
}

function eventsOf(chunks: readonly string[], options: Input["options"]): StreamEvent[] {
  const { prefill, hip1, cancel } = options;
  const stream = createOpenChatMLStream(defined<StreamOptions>({ prefill, hip1 }));
  const events = chunks.flatMap((chunk) => stream.push(chunk));
  return joinDeltas([...events, ...(cancel === undefined ? stream.end() : stream.cancel(cancel))]);
}

function joinDeltas(events: readonly StreamEvent[]): StreamEvent[] {
  const joined: StreamEvent[] = [];
  for (const event of events) {
    const last = joined.at(-1);
    const isDelta = event.type === "response.delta" || event.type === "message.delta";
    if (isDelta && last?.type === event.type) {
      joined[joined.length - 1] = { ...event, text: last.text + event.text };
    } else {
      joined.push(event);
    }
  }
  return joined;
}

/** Without the options that are undefined. */
function defined<T extends object>(options: { [K in keyof T]?: T[K] | undefined }): T {
  return JSON.parse(JSON.stringify(options));
}
