import * as fc from "fast-check";
import { expect, test } from "vitest";

import { readIdList } from "../../src/engines/frame.ts";

function read(text: string, at = 0): { end: number; ids: number[] } {
  const ids = [7];
  return { end: readIdList(text, at, ids), ids };
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
