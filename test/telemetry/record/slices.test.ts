import { assert, asyncProperty, jsonValue } from "fast-check";
import { expect, test } from "vitest";
import {
  collectSliced,
  runSliced,
  SLICE,
  stringifySliced,
} from "../../../src/telemetry/record/slices.ts";

const noPause = async (): Promise<void> => {};

test("JSON in slices is the JSON of the whole", async () => {
  await assert(
    asyncProperty(jsonValue(), async (value) => {
      const body = { value, missing: undefined, list: [value, { missing: undefined }] };
      expect(await stringifySliced(body, noPause)).toBe(JSON.stringify(body));
    }),
  );
});

test("long lists and objects are cut at every place", async () => {
  for (const length of [0, 1, 64, 65, SLICE - 1, SLICE, SLICE + 1, 3 * SLICE]) {
    const list = Array.from({ length }, (_, index) => ({ index, missing: undefined }));
    const byName = Object.fromEntries(list.map((each, index) => [`a${index}`, each]));
    const body = { list, byName };
    expect(await stringifySliced(body, noPause)).toBe(JSON.stringify(body));
  }
});

test("others are served between slices", async () => {
  let pauses = 0;
  const pause = async (): Promise<void> => void (pauses += 1);
  const list = await runSliced(collectSliced(Array(10 * SLICE).keys()), pause);
  expect(list).toHaveLength(10 * SLICE);
  expect(pauses).toBe(10);
  await stringifySliced({ list: list.map((index) => "x".repeat(index % 200)) }, pause);
  expect(pauses).toBeGreaterThan(12);
});
