/** The fast path for ordinary frames gives what the general path gives: on every recorded stream, wherever it is cut. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { CompletionDecoder } from "../../src/engines/completion-decoder.ts";
import { createCompletionReader } from "../../src/engines/completion-reader.ts";
import { connectServer } from "../../src/engines/server.ts";
import { createSseSplitter } from "../../src/engines/sse.ts";
import { cuts, decodeRead } from "./support.ts";
import { anyCharacter } from "../helpers/any-character.ts";

const FIXTURES = join(import.meta.dirname, "../fixtures");
const FOLDERS = ["fireworks", "trtllm", "vllm"].map((name) => `engines/${name}`);

const streams = [...FOLDERS, "recorded/vllm"].flatMap((folder) =>
  readdirSync(join(FIXTURES, folder))
    .filter((name) => name.endsWith(".sse"))
    .map((name): [string, Uint8Array] => {
      return [`${folder}/${name}`, readFileSync(join(FIXTURES, folder, name))];
    }),
);

const server = connectServer("vllm", { url: "http://engine:8000", model: "gpt-oss" });

/** Recorded streams are short: what the gateway learns later is learned from their second frame. */
const EARLY = 2;

/** A decoder, and how many frames it has read on the fast path. */
function decoderOf(isShort: boolean, firstLearned?: number) {
  const reader = createCompletionReader(server, { firstLearned });
  let count = 0;
  const readWhole = (bytes: Uint8Array, from: number): number => {
    const end = reader.readWhole?.(bytes, from) ?? from;
    count += Buffer.from(bytes.subarray(from, end)).toString().split("\n\n").length - 1;
    return end;
  };
  const decoder = new CompletionDecoder({
    serverName: server.name,
    reader,
    splitter: createSseSplitter(isShort ? { readWhole } : {}),
    openAtFirstEvent: true,
  });
  return { decoder, count: () => count };
}

/** What reading these pieces gives, and how many frames were read on the fast path. */
function decode(pieces: readonly Uint8Array[], isShort: boolean, firstLearned?: number) {
  const { decoder, count } = decoderOf(isShort, firstLearned);
  const events = [];
  for (const piece of pieces) {
    if (!decoder.hasEnded()) events.push(decodeRead(decoder, piece));
  }
  const [ended, failure, finish] = [decoder.hasEnded(), decoder.failure(), decoder.finish()];
  return { outcome: { events, ended, failure, finish }, count: count() };
}

/** Both outcomes if they differ. Vitest's own comparison takes longer than the decoding. */
function differenceIn(pieces: readonly Uint8Array[]) {
  const [short, long] = [true, false].map((isShort) => decode(pieces, isShort, EARLY).outcome);
  return isDeepStrictEqual(short, long) ? undefined : { short, long };
}

describe("the same as on the general path, cut anywhere", () => {
  test.each(streams)("%s", (_, stream) => {
    for (const pieces of cuts(stream)) expect(differenceIn(pieces)).toBeUndefined();
  });
});

test("most frames of a long answer are read on the fast path", () => {
  const stream = new TextEncoder().encode(sent(" a", 1) + sent(" b", 2).repeat(100) + DONE);
  expect(decode([stream], true, EARLY).count).toBe(99);
  expect(decode([stream], true).count).toBe(85);
});

test("so are those behind another frame in the same read", () => {
  const frames = sent(" b", 2).repeat(5);
  const stream = new TextEncoder().encode(`${LEARNED}${frames}: ping\n\n${frames}${DONE}`);
  expect(decode([stream], true, EARLY).count).toBe(11);
});

const HEAD =
  '{"id":"cmpl-1","object":"text_completion","created":1,"model":"m","choices":[{"index":0,"text":';
const MIDDLE = ',"logprobs":null,"finish_reason":null,"stop_reason":null,"token_ids":[';
const TAIL = "]}]}";
const DONE = "data: [DONE]\n\n";

function sent(text: string, ...ids: readonly number[]): string {
  return `data: ${HEAD}${JSON.stringify(text)}${MIDDLE}${ids.join(",")}${TAIL}\n\n`;
}

const LEARNED = sent(" a", 1) + sent(" b", 2) + sent(" c", 3);

test.each([
  ["a finish", `data: ${HEAD}"","finish_reason":"stop","token_ids":[200002]${TAIL}\n\n`],
  ["an error", 'data: {"error":{"message":"out of memory","code":500}}\n\n'],
  ["usage behind the choices", sent(" d", 4).replace("]}]}", ']}],"usage":{"prompt_tokens":7}}')],
  ["another member in the choice", sent(" d", 4).replace(',"logprobs"', ',"x":"y","logprobs"')],
  ["a member that looks like the text's end", sent('d","logprobs":null', 4)],
  ["no ids", sent(" d")],
  ["ids that are none", sent(" d", 4).replace("[4]", "[4.5]")],
  ["ids without end", sent(" d", 4).replace("[4]}]}", "[4")],
  ["a line break within the text", `data: ${HEAD}"a\nb"${MIDDLE}4${TAIL}\n\n`],
  ["a carriage return within the text", `data: ${HEAD}"a\rb"${MIDDLE}4${TAIL}\n\n`],
  ["carriage returns behind it", sent(" d", 4).replaceAll("\n", "\r\n")],
  ["a second line of the same event", `${sent(" d", 4).slice(0, -1)}data: x\n\n`],
  ["escapes in the text", sent('"\\\n\u0001</', 4)],
  ["text that is no ASCII", sent("日本👩‍🚀", 4)],
  ["half a character", sent("\ud83d", 4)],
  ["a BOM before it", `\ufeff${sent(" d", 4)}`],
  ["a comment before it", `: ping\n\n${sent(" d", 4)}`],
  ["no blank line behind it", sent(" d", 4).slice(0, -1)],
])("%s, after ordinary frames and before others, cut anywhere", (_, odd) => {
  const stream = new TextEncoder().encode(LEARNED + odd + sent(" e", 5) + DONE);
  for (const pieces of cuts(stream)) expect(differenceIn(pieces)).toBeUndefined();
});

test("a form that is no ASCII, cut anywhere", () => {
  const named = (text: string) => text.replaceAll('"model":"m"', '"model":"模型 é👩‍🚀"');
  const stream = named(LEARNED + sent(" d", 4) + sent(" d", 4).replace('"cmpl-1"', '"2"') + DONE);
  const bytes = new TextEncoder().encode(stream);
  expect(decode([bytes.subarray(0, 500), bytes.subarray(500)], true, EARLY).count).toBe(1);
  for (const pieces of cuts(bytes)) expect(differenceIn(pieces)).toBeUndefined();
});

test("reads of one buffer that is overwritten", () => {
  const stream = new TextEncoder().encode(LEARNED + sent(" d", 4).repeat(30) + DONE);
  const buffer = new Uint8Array(1000).fill(32);
  for (const size of [150, 193, 700, 1000]) {
    const decodeReads = (isShort: boolean) => {
      const { decoder } = decoderOf(isShort, EARLY);
      const events = [];
      for (let at = 0; at < stream.length; at += size) {
        const read = stream.subarray(at, at + size);
        buffer.set(read);
        events.push(decodeRead(decoder, buffer.subarray(0, read.length)));
      }
      return events;
    };
    expect(decodeReads(true)).toEqual(decodeReads(false));
  }
});

test("any texts and ids, split anywhere", () => {
  const token = fc.tuple(
    fc.string({ unit: anyCharacter, maxLength: 6 }),
    fc.array(fc.integer({ min: 0, max: 201_087 }), { maxLength: 3 }),
  );
  fc.assert(
    fc.property(
      fc.array(token),
      fc.infiniteStream(fc.integer({ min: 1, max: 400 })),
      (all, sizes) => {
        const frames = all.map(([text, ids]) => sent(text, ...ids));
        const stream = new TextEncoder().encode(LEARNED + frames.join("") + DONE);
        const pieces: Uint8Array[] = [];
        for (let at = 0; at < stream.length;) {
          const size: number = sizes.next().value ?? 1;
          pieces.push(stream.subarray(at, at + size));
          at += size;
        }
        expect(differenceIn(pieces)).toBeUndefined();
      },
    ),
    { numRuns: 100 },
  );
});
