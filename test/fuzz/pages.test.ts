import { expect, test } from "vitest";
import { checkSteps, createPageFuzzer, type PageFailure } from "../../proof/fuzz/pages.ts";

/** `npm run fuzz -- --pages 10000` runs more. */
const INPUTS = 40;

test("random pages: nothing is lost or forged, and the cost is that of the length", async () => {
  const fuzzer = await createPageFuzzer(1);
  const failures: PageFailure[] = [];
  for (let index = 0; index < INPUTS; index++) {
    const failure = await fuzzer.run(index);
    if (failure !== undefined) failures.push(failure);
  }
  await fuzzer.stop();
  expect(failures).toEqual([]);
});

test("a cost that grows with the square of the length is reported", async () => {
  const input = { isHtml: true, start: "", unit: ["<b>"] };
  const quadratic = { count: async ({ body = "" }) => ({ steps: body.length ** 2, patterns: [] }) };
  expect(await checkSteps(input, quadratic)).toBe("10 times the page take 100.0 times the steps");
});
