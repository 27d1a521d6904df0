import { assert, date, property } from "fast-check";
import { expect, test } from "vitest";
import { systemOptions } from "../../src/config/system-options.ts";
import { testSettings } from "../helpers/gateway.ts";

const settings = testSettings({ date: "today" });

function dayOf(time: number): string | undefined {
  return systemOptions(settings, time).date;
}

test.each([
  "1970-01-01",
  "1999-12-31",
  "2000-02-29",
  "2000-03-01",
  "2024-02-29",
  "2026-11-23",
  "2027-01-01",
  "2100-02-28",
  "2100-03-01",
  "2400-02-29",
])("%s from its first to its last millisecond", (day) => {
  const start = Date.parse(day);
  expect([dayOf(start), dayOf(start + 86_399_999)]).toEqual([day, day]);
});

test("any day is the one that Date prints", () => {
  const times = date({
    min: new Date("1000-01-01"),
    max: new Date("9999-12-31"),
    noInvalidDate: true,
  });
  assert(
    property(times, (each) => {
      expect(dayOf(each.getTime())).toBe(each.toISOString().slice(0, 10));
    }),
  );
});
