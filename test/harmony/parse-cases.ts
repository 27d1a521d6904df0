/** Reads the completion cases, feeds parsers in every form, and collects what comes out. */

import { readFileSync } from "node:fs";
import { z } from "zod";
import {
  createParser,
  type ParseEvent,
  type Parser,
  type ParserOptions,
  type ParserPiece,
  type Recovery,
  toFinishReason,
} from "../../src/harmony/index.ts";
import { isSpecial, o200kHarmony } from "../../src/tokenizer/index.ts";
import type { TokenId } from "../../src/tokenizer/index.ts";

const partSchema = z.discriminatedUnion("type", [
  z.object({ type: z.enum(["reasoning", "commentary", "content"]), text: z.string() }),
  z.object({ type: z.literal("tool_call"), name: z.string(), arguments: z.string() }),
]);

const caseSchema = z.object({
  id: z.string(),
  class: z.string(),
  kind: z.enum(["wellformed", "malformed"]),
  mode: z.enum(["text", "ids"]),
  raw: z.string().nullable(),
  token_ids: z.array(z.number()),
  tools: z.array(z.string()),
  upstream_finish: z.enum(["stop", "length"]),
  expected: z.object({ parts: z.array(partSchema), finish: z.string() }),
});

export type CompletionCase = z.infer<typeof caseSchema>;

export function readCompletionCases(): CompletionCase[] {
  const path = new URL("../fixtures/harmony-cases/harmony-completions.jsonl", import.meta.url);
  const lines = readFileSync(path, "utf8").split("\n");
  return lines.filter((line) => line !== "").map((line) => caseSchema.parse(JSON.parse(line)));
}

/** The parser's input: one push for each element. */
export type Feed =
  | { readonly form: "ids"; readonly pushes: readonly (readonly TokenId[])[] }
  | { readonly form: "text"; readonly pushes: readonly string[] }
  | { readonly form: "pieces"; readonly pushes: readonly (readonly ParserPiece[])[] };

export interface Reading {
  /** Without text parts that have no text. */
  readonly parts: CompletionCase["expected"]["parts"];
  readonly finish: string;
  readonly events: readonly ParseEvent[];
  readonly recoveries: readonly (readonly [Recovery, number])[];
  readonly tokens: Parser["tokens"];
}

/** Feeds a fresh parser to the end. Throws where events are not well nested. */
export function read(
  feed: Feed,
  reason: "stop" | "length" = "stop",
  options: ParserOptions = {},
): Reading {
  const parser = createParser(o200kHarmony(), options);
  const events = [...pushAll(parser, feed), ...parser.end(reason)];
  const parts = toParts(events);
  if (!parser.done) throw new Error("the parser has not ended");
  return {
    parts: parts.filter((part) => part.type === "tool_call" || part.text !== ""),
    finish: toFinishReason(
      reason,
      parts.some(({ type }) => type === "tool_call"),
    ).replace("-", "_"),
    events: joinDeltas(events),
    recoveries: [...parser.recoveries],
    tokens: { ...parser.tokens },
  };
}

export function readText(text: string, ...rest: [("stop" | "length")?, ParserOptions?]): Reading {
  return read({ form: "text", pushes: [text] }, ...rest);
}

export function readIds(
  ids: readonly TokenId[],
  ...rest: [("stop" | "length")?, ParserOptions?]
): Reading {
  return read({ form: "ids", pushes: [ids] }, ...rest);
}

function pushAll(parser: Parser, feed: Feed): ParseEvent[] {
  switch (feed.form) {
    case "ids":
      return feed.pushes.flatMap((ids) => parser.pushIds(ids));
    case "text":
      return feed.pushes.flatMap((text) => parser.pushText(text));
    case "pieces":
      return feed.pushes.flatMap((pieces) => parser.pushPieces(pieces));
    default:
      return feed satisfies never;
  }
}

/** Events as parts. Throws where they are not well nested or a delta is empty. */
export function toParts(events: readonly ParseEvent[]): CompletionCase["expected"]["parts"] {
  const parts: CompletionCase["expected"]["parts"] = [];
  let open: ((text: string) => void) | undefined;
  for (const event of events) {
    switch (event.type) {
      case "part-start": {
        if (open !== undefined) throw new Error("a part begins in another");
        const part = toPart(event);
        parts.push(part);
        open = (text) => {
          if (part.type === "tool_call") part.arguments += text;
          else part.text += text;
        };
        break;
      }
      case "part-delta":
        if (open === undefined || event.text === "")
          throw new Error("a delta without part or text");
        open(event.text);
        break;
      case "part-end":
        if (open === undefined) throw new Error("a part ends that is not open");
        open = undefined;
        break;
      default:
        return event satisfies never;
    }
  }
  if (open !== undefined) throw new Error("a part is left open");
  return parts;
}

function toPart(event: Extract<ParseEvent, { type: "part-start" }>) {
  if (event.part === "tool-call" || event.part === "builtin-call") {
    return { type: "tool_call" as const, name: event.name, arguments: "" };
  }
  const type = event.part === "preamble" ? ("commentary" as const) : event.part;
  return { type, text: "" };
}

/** The events, with adjacent deltas joined. */
export function joinDeltas(events: readonly ParseEvent[]): ParseEvent[] {
  const joined: ParseEvent[] = [];
  for (const event of events) {
    const last = joined.at(-1);
    if (event.type === "part-delta" && last?.type === "part-delta") {
      joined[joined.length - 1] = { type: "part-delta", text: last.text + event.text };
    } else {
      joined.push(event);
    }
  }
  return joined;
}

/** The form of an engine that gives special tokens by id and the rest as text. */
export function toPieces(ids: readonly TokenId[]): ParserPiece[] {
  const pieces: ParserPiece[] = [];
  const decoder = o200kHarmony().createDecoder();
  const flush = () => {
    const text = decoder.end();
    if (text !== "") pieces.push({ text });
  };
  for (const id of ids) {
    if (isSpecial(id)) {
      flush();
      pieces.push({ special: id });
    } else {
      const text = decoder.push(id);
      if (text !== "") pieces.push({ text });
    }
  }
  flush();
  return pieces;
}

/** Splits at the given positions, which may be in any order and out of range. */
export function cutAt<T extends string | readonly unknown[]>(
  whole: T,
  places: readonly number[],
): T[] {
  const within = places.map((place) => Math.abs(place) % (whole.length + 1));
  const cuts = [0, ...within.toSorted((a, b) => a - b), whole.length];
  return cuts.slice(1).map((cut, index) => sliceOf(whole, cuts[index] ?? 0, cut));
}

function sliceOf<T extends string | readonly unknown[]>(whole: T, from: number, to: number): T {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- slices are of their whole's type; the compiler sees the union
  return whole.slice(from, to) as T;
}

/** The part that a message of the assistant is read as. */
export function partOf({
  recipient,
  channel,
  content,
}: {
  readonly recipient?: string | undefined;
  readonly channel?: string | undefined;
  readonly content: unknown;
}) {
  if (recipient !== undefined) {
    return { type: "tool_call", name: recipient.replace("functions.", ""), arguments: content };
  }
  const types: Record<string, string> = { analysis: "reasoning", commentary: "commentary" };
  return { type: types[channel ?? ""] ?? "content", text: content };
}
