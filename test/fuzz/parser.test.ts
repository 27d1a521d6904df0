import { expect, test } from "vitest";
import { fuzzParser, type ParserFailure, shrinkParserFailure } from "../../proof/fuzz/parser.ts";

/** `npm run fuzz -- --parser 10000000` runs more. */
const INPUTS = 20_000;

test("random completions: no throw, the same events however they are cut, no more out than in", async () => {
  const failures: ParserFailure[] = [];
  for (let index = 0; index < INPUTS && failures.length < 3; index++) {
    const failure = fuzzParser(1, index);
    if (failure !== undefined) failures.push(await shrinkParserFailure(failure));
  }
  expect(failures).toEqual([]);
});

test("a failing input is reduced until nothing can be left out", async () => {
  // Its `slice` does not return a list, so pushing it throws.
  const broken = { length: 3, slice: () => 0 };
  const failure = {
    problem: "it threw",
    input: {
      segments: [
        { form: "text", items: "fine" },
        { form: "ids", items: Object.assign([200_006], broken) },
        { form: "text", items: "also fine" },
      ],
      toolNames: [],
      reason: "stop",
      limits: {},
    },
  } as const;
  const { input } = await shrinkParserFailure(failure);
  expect(input.segments).toHaveLength(1);
});
