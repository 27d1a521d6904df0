import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { readIdList, readIdListBytes } from "../../src/engines/id-list.ts";

const encoder = new TextEncoder();

describe.each([
  ["in text", readIdList],
  ["in bytes", (text, at, into) => readIdListBytes(encoder.encode(text), at, into)],
] satisfies [string, typeof readIdList][])("%s", (_, readFrom) => {
  function read(text: string, at = 0): { end: number; ids: number[] } {
    const ids = [7];
    return { end: readFrom(text, at, ids), ids };
  }

  test("reads any list of ids as JSON.parse does", () => {
    fc.assert(
      fc.property(fc.array(fc.nat()), (ids) => {
        const text = `${JSON.stringify(ids)}}`;
        expect(read(text, 1)).toEqual({ end: text.length - 2, ids: [7, ...ids] });
      }),
    );
  });

  test.each([
    ["a minus", "1,-2]"],
    ["a fraction", "1,2.5]"],
    ["null", "1,null]"],
    ["a blank", "1, 2]"],
    ["a string", '1,"2"]'],
    ["no end", "1,2"],
    ["nothing at all", ""],
  ])("adds nothing when it meets %s", (__, text) => {
    expect(read(text)).toEqual({ end: -1, ids: [7] });
  });
});
