import { expect, test } from "vitest";
import { toIdsJson } from "../../src/tokenizer/ids-json.ts";

const EDGES = [0, 9, 10, 99, 100, 999, 1000, 9999, 10_000, 99_999, 100_000, 201_087, 4_294_967_295];

test("writes each id after a comma, with as many digits as it has", () => {
  const expected = EDGES.map((id) => `,${id}`).join("");
  expect(Buffer.from(toIdsJson(EDGES)).toString()).toBe(expected);
  expect(Buffer.from(toIdsJson(Uint32Array.from(EDGES))).toString()).toBe(expected);
});

test("writes nothing for no ids", () => {
  expect(toIdsJson([])).toEqual(new Uint8Array());
});
