import { assert, date, maxSafeNat, property } from "fast-check";
import { expect, test } from "vitest";
import { plain, shown, toCount, toMs, toTime } from "../../web/inspect/format.ts";

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

test.each([
  [null, "–"],
  [0, "0.0 ms"],
  [9.94, "9.9 ms"],
  [42.4, "42 ms"],
  [999.4, "999 ms"],
  // The unit changes before 1000 ms.
  [999.5, "1.0 s"],
  [1100, "1.1 s"],
  [75_000, "75.0 s"],
])("a duration of %s ms is written as %s", (ms, text) => {
  expect(toMs(ms)).toBe(text);
});

test("signs that turn the direction of text are shown by their names, others are kept", () => {
  expect(plain("a\u202eb\u2067c\u2069\u202c")).toBe("a[U+202E]b[U+2067]c[U+2069][U+202C]");
  expect(plain("שלום\u200f!")).toBe("שלום\u200f!");
  expect(shown("\u202d")).toBe("[U+202D]");
});
