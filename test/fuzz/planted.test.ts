/** A search without findings may be blind: planted defects must be found. */
import { expect, test } from "vitest";
import { FAULTS } from "../../proof/fuzz/turns/faults.ts";
import { findFault } from "../../proof/fuzz/turns/plant.ts";

test.each(FAULTS)("$name: the search finds it", async (fault) => {
  expect(await findFault(fault, 1000)).toBeDefined();
});
