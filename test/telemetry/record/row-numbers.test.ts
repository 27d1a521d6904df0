import { expect, test } from "vitest";
import { RowNumbers } from "../../../src/telemetry/record/row-numbers.ts";

test("no number is given out twice, and each has its row's index in it", () => {
  const numbers = new RowNumbers();
  const seen = new Set<number>();
  for (let round = 0; round < 1000; round++) {
    const index = numbers.takeRow();
    for (const number of [numbers.next(index), numbers.next(index)]) {
      expect(number & RowNumbers.lastRow).toBe(index);
      expect(index).toBeGreaterThan(0);
      expect(seen.has(number)).toBe(false);
      seen.add(number);
    }
    if (round % 3 !== 0) numbers.free(index);
  }
});

test("a row whose numbers are used up is not given out again", () => {
  const numbers = new RowNumbers();
  const index = numbers.takeRow();
  let last = 0;
  let count = 0;
  for (let number = numbers.next(index); number !== 0; number = numbers.next(index)) {
    count += 1;
    last = number;
  }
  expect([count, last]).toEqual([2 ** 19 - 1, 2 ** 31 - 4096 + index]);
  numbers.free(index);
  expect(numbers.takeRow()).not.toBe(index);
});

test("all rows can be taken at once, and no more", () => {
  const numbers = new RowNumbers();
  const taken = Array.from({ length: RowNumbers.lastRow }, () => numbers.takeRow());
  expect(new Set(taken).size).toBe(RowNumbers.lastRow);
  expect([numbers.takeRow(), numbers.next(0)]).toEqual([0, 0]);
  numbers.free(7);
  expect(numbers.takeRow()).toBe(7);
});
