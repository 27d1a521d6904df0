import { describe, expect, test } from "vitest";
import {
  createRandom,
  type Estimate,
  estimateMean,
  estimateRatio,
  toMeasured,
} from "./statistics.ts";

/** 25 numbers around 1.12. */
const WINDOWS = Array.from({ length: 25 }, (_, at) => 1 + ((at * 7) % 25) / 100);
const width = ({ low, high }: Estimate) => high - low;

describe("the interval of a ratio", () => {
  test("is the same for the same seed, and contains the value", () => {
    const estimate = estimateMean([WINDOWS], 7);
    expect(estimateMean([WINDOWS], 7)).toEqual(estimate);
    expect(estimate.value).toBeCloseTo(1.12, 10);
    expect(estimate.low).toBeLessThan(estimate.value);
    expect(estimate.high).toBeGreaterThan(estimate.value);
  });

  test("is narrower with more windows, and with more processes", () => {
    const many = Array.from({ length: 8 }, () => WINDOWS);
    expect(width(estimateMean([many.flat()]))).toBeLessThan(width(estimateMean([WINDOWS])));
    expect(width(estimateMean(many))).toBeLessThan(width(estimateMean([WINDOWS])));
  });

  test("contains what differs from process to process, however alike their windows are", () => {
    const processes = [1, 1.2, 1, 1.2, 1, 1.2].map((ratio) => [ratio, ratio, ratio]);
    const { value, low, high } = estimateMean(processes);
    expect(value).toBeCloseTo(Math.sqrt(1.2), 10);
    expect(low).toBeLessThan(1.04);
    expect(high).toBeGreaterThan(1.15);
  });

  test("of a single window is that window, and of none NaN", () => {
    expect(estimateMean([[2]])).toEqual({ value: 2, low: 2, high: 2 });
    expect(estimateMean([])).toEqual({ value: NaN, low: NaN, high: NaN });
  });

  test("is moved little by an outlier", () => {
    const { value, high } = estimateMean([[...WINDOWS, 1000]]);
    expect(value).toBeLessThan(1.2);
    expect(high).toBeLessThan(2);
  });
});

describe("the ratio of two contenders", () => {
  test("is formed window by window, so that a slow window of both does not matter", () => {
    const theirs = [10, 80, 11, 300, 9, 12];
    const ours = theirs.map((value) => 1.2 * value);
    const { value, low, high } = estimateRatio(toMeasured(ours, 2), toMeasured(theirs, 2));
    for (const each of [value, low, high]) expect(each).toBeCloseTo(1.2, 10);
  });

  test("is the mean of the processes', not of all windows", () => {
    const ours = toMeasured([1, 1, 1, 4, 4, 4], 3);
    expect(estimateRatio(ours, toMeasured([1, 1, 1, 1, 1, 1], 3)).value).toBeCloseTo(2, 10);
  });

  test("leaves out windows in which one of them has nothing", () => {
    const ours = toMeasured([2, NaN, 5, 3, 4, NaN], 2);
    expect(estimateRatio(ours, toMeasured([1, 1, 0, 0, 2, 1], 2))).toEqual({
      value: 2,
      low: 2,
      high: 2,
    });
    expect(estimateRatio(toMeasured([1]), toMeasured([])).value).toBeNaN();
  });
});

test("random numbers are from 0 to below 1, and spread evenly", () => {
  const random = createRandom(3);
  const tenths = Array.from({ length: 10 }, () => 0);
  for (let draw = 0; draw < 10_000; draw++) {
    const at = Math.floor(random() * 10);
    tenths[at] = (tenths[at] ?? NaN) + 1;
  }
  expect(tenths).toHaveLength(10);
  for (const count of tenths) expect(Math.abs(count - 1000)).toBeLessThan(150);
});

test("rounds are summarized by median, lowest and highest", () => {
  expect(toMeasured([3, 1, 2])).toEqual({
    median: 2,
    min: 1,
    max: 3,
    rounds: [3, 1, 2],
    perProcess: 1,
  });
});
