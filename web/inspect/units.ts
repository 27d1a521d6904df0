/** The output of an engine call, unit by unit, each with its part. */
import type { RecordedCall, TurnRecord } from "../../src/telemetry/record/schema.ts";
import { brokenBytes, hueOfPart, type Hue, isSpecial, tokenText } from "./format.ts";
import type { Tokens } from "./types.ts";

/** A token, or the text of one read if the engine returns no ids. */
export interface Unit {
  /** Index among the units of the call. */
  readonly at: number;
  readonly id: number | undefined;
  readonly text: string;
  /** Bytes of a token that is only part of a character. */
  readonly bytes: readonly number[] | undefined;
  readonly isSpecial: boolean;
  readonly ms: number;
  /** Index of the unit's part. */
  readonly part: number | undefined;
  readonly hue: Hue | undefined;
  /** False: the gateway stopped reading before it. */
  readonly isUsed: boolean;
}

export function unitsOfCall(
  call: RecordedCall,
  index: number,
  record: TurnRecord,
  tokens: Tokens,
): Unit[] {
  const spans = record.parts
    .flatMap(({ spans: own, kind }, part) =>
      own.flatMap((span) => (span.call === index ? [{ ...span, part, hue: hueOfPart(kind) }] : [])),
    )
    .toSorted((a, b) => a.from - b.from);
  const units: Unit[] = [];
  let at = 0;
  let span = 0;
  const add = (id: number | undefined, text: string, special: boolean, ms: number, length = 1) => {
    while (span < spans.length - 1 && at >= (spans[span]?.to ?? 0)) span++;
    const own = spans[span];
    const isIn = own !== undefined && at >= own.from && at < own.to;
    units.push({
      at,
      id,
      text,
      bytes: id === undefined ? undefined : brokenBytes(id, tokens),
      isSpecial: special,
      ms,
      part: isIn ? own.part : undefined,
      hue: isIn ? own.hue : undefined,
      isUsed: at < call.used,
    });
    at += length;
  };
  for (const read of call.reads) {
    if ("ids" in read) {
      if (!Array.isArray(read.ids)) continue;
      for (const id of read.ids) add(id, tokenText(id, tokens), isSpecial(id), read.ms);
    } else if ("pieces" in read) {
      for (const piece of read.pieces) {
        if ("special" in piece) add(piece.special, tokenText(piece.special, tokens), true, read.ms);
        else if (typeof piece.text === "string") add(undefined, piece.text, false, read.ms);
      }
    } else if (typeof read.text === "string") {
      for (const part of read.text.split(/(<\|[a-z]+\|>)/)) {
        if (part === "") continue;
        add(undefined, part, /^<\|[a-z]+\|>$/.test(part), read.ms, part.length);
      }
    }
  }
  return units;
}
