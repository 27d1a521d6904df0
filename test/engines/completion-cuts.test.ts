/** An odd event gives the same tokens, finish and failure, wherever the bytes of its stream are cut. */
import { isDeepStrictEqual } from "node:util";
import * as fc from "fast-check";
import { expect, test } from "vitest";

import { CompletionDecoder } from "../../src/engines/completion-decoder.ts";
import { createCompletionReader } from "../../src/engines/completion-reader.ts";
import { connectServer } from "../../src/engines/server.ts";
import { createSseSplitter } from "../../src/engines/sse.ts";
import { cuts, decodeRead } from "./support.ts";
import { anyCharacter } from "../helpers/any-character.ts";

const server = connectServer("vllm", { url: "http://engine:8000", model: "gpt-oss" });

/** Reads these pieces, and joins the tokens of all reads. */
function decode(pieces: Iterable<Uint8Array>) {
  const decoder = new CompletionDecoder({
    serverName: server.name,
    reader: createCompletionReader(server),
    splitter: createSseSplitter(),
    openAtFirstEvent: true,
  });
  const ids: number[] = [];
  let text = "";
  for (const piece of pieces) {
    if (decoder.hasEnded()) break;
    for (const event of decodeRead(decoder, piece)) {
      if (event.type === "ids") ids.push(...event.ids);
      if (event.type === "text") text += event.text;
    }
  }
  const [failure, finish] = [decoder.failure()?.message, decoder.finish()];
  return { ids, text, hasEnded: decoder.hasEnded(), failure, finish };
}

/** The first cut that changes the outcome. Vitest's own comparison takes longer than the decoding. */
function differenceIn(stream: Uint8Array) {
  const whole = decode([stream]);
  for (const pieces of cuts(stream)) {
    const cut = decode(pieces);
    if (!isDeepStrictEqual(cut, whole)) return { whole, cut };
  }
  return undefined;
}

const HEAD =
  '{"id":"cmpl-1","object":"text_completion","created":1,"model":"m","choices":[{"index":0,"text":';
const MIDDLE = ',"logprobs":null,"finish_reason":null,"stop_reason":null,"token_ids":[';
const TAIL = "]}]}";
const DONE = "data: [DONE]\n\n";

function sent(text: string, ...ids: readonly number[]): string {
  return `data: ${HEAD}${JSON.stringify(text)}${MIDDLE}${ids.join(",")}${TAIL}\n\n`;
}

const BEFORE = sent(" a", 1) + sent(" b", 2) + sent(" c", 3);

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
])("%s, between ordinary events", (_, odd) => {
  const stream = new TextEncoder().encode(BEFORE + odd + sent(" e", 5) + DONE);
  expect(differenceIn(stream)).toBeUndefined();
});

test("reads of one buffer that is overwritten", () => {
  const stream = new TextEncoder().encode(BEFORE + sent(" d", 4).repeat(30) + DONE);
  const buffer = new Uint8Array(1000).fill(32);
  for (const size of [150, 193, 700, 1000]) {
    function* reads() {
      for (let at = 0; at < stream.length; at += size) {
        const read = stream.subarray(at, at + size);
        buffer.set(read);
        yield buffer.subarray(0, read.length);
      }
    }
    expect(decode(reads())).toEqual(decode([stream]));
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
        const stream = new TextEncoder().encode(frames.join("") + DONE);
        const pieces: Uint8Array[] = [];
        for (let at = 0; at < stream.length;) {
          const size: number = sizes.next().value ?? 1;
          pieces.push(stream.subarray(at, at + size));
          at += size;
        }
        expect(decode(pieces).ids).toEqual(all.flatMap(([, ids]) => ids));
      },
    ),
    { numRuns: 100 },
  );
});
