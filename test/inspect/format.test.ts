import { assert, date, maxSafeNat, property } from "fast-check";
import { expect, test } from "vitest";
import { toCount, toTime } from "../../src/inspect/page/format.ts";

test("counts and times are written as the browser's own formats write them", () => {
  expect(toCount(0)).toBe("0");
  expect(toCount(1_234_567)).toBe("1,234,567");
  expect(toCount(null)).toBe("–");
  assert(
    property(maxSafeNat(), date({ noInvalidDate: true }), (count, time) => {
      expect(toCount(count)).toBe(count.toLocaleString("en"));
      expect(toTime(time.toISOString())).toBe(time.toLocaleTimeString("en-GB"));
    }),
  );
});
