import { assert, asyncProperty, jsonValue } from "fast-check";
import { expect, test } from "vitest";
import {
  mapSliced,
  runSliced,
  SLICE,
  stringifyInChunks,
} from "../../../src/telemetry/record/build-slices.ts";

const noPause = async (): Promise<void> => {};

async function written(body: object, pause: () => Promise<void>): Promise<string> {
  return (await Array.fromAsync(stringifyInChunks(body, pause))).join("");
}

test("JSON in slices is the JSON of the whole", async () => {
  await assert(
    asyncProperty(jsonValue(), async (value) => {
      const body = { value, missing: undefined, list: [value, { missing: undefined }] };
      expect(await written(body, noPause)).toBe(JSON.stringify(body));
    }),
  );
});

test("long lists and objects are cut at every place", async () => {
  for (const length of [0, 1, 64, 65, SLICE - 1, SLICE, SLICE + 1, 3 * SLICE]) {
    const list = Array.from({ length }, (_, index) => ({ index, missing: undefined }));
    const byName = Object.fromEntries(list.map((each, index) => [`a${index}`, each]));
    const body = { list, byName };
    expect(await written(body, noPause)).toBe(JSON.stringify(body));
  }
});

test("others are served between slices", async () => {
  let pauses = 0;
  const pause = async (): Promise<void> => void (pauses += 1);
  const numbers = Array.from({ length: 10 * SLICE }, (_, index) => index);
  const list = await runSliced(
    mapSliced(numbers, (index) => index + 1),
    pause,
  );
  expect(list).toEqual(numbers.map((index) => index + 1));
  expect(pauses).toBe(10);
  await written({ list: list.map((index) => "x".repeat(index % 200)) }, pause);
  expect(pauses).toBeGreaterThan(12);
});
