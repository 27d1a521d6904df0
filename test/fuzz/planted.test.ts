/** A search that finds nothing may be blind: defects put in on purpose must be found. */
import { expect, test } from "vitest";
import { FAULTS } from "../../fuzz/turns/faults.ts";
import { findFault } from "../../fuzz/turns/plant.ts";

test.each(FAULTS)("$name: the search finds it", async (fault) => {
  expect(await findFault(fault, 1000)).toBeDefined();
});
