import { expect, test } from "vitest";
import { createRequestFuzzer, EPOCH, shrinkRequestFailure } from "../../proof/fuzz/requests.ts";

/** A few epochs, each with settings of its own. `npm run fuzz -- --requests 1000000` runs more. */
const REQUESTS = 4 * EPOCH;

test("damaged requests to every route: no throw, no 5xx, no hang, every error in its envelope", async () => {
  const fuzzer = createRequestFuzzer(1);
  const failures: unknown[] = [];
  for (let index = 0; index < REQUESTS && failures.length < 3; index++) {
    const failure = await fuzzer.run(index);
    if (failure === undefined) continue;
    const { problem, requests } = await shrinkRequestFailure(failure);
    failures.push({ index, problem, requests: JSON.stringify(requests).slice(0, 2000) });
  }
  expect(failures).toEqual([]);
  // Most mutations must leave a request valid enough to get past authentication.
  expect(fuzzer.statuses.get(200)).toBeGreaterThan(REQUESTS / 10);
});
