/** The system message's options from the settings, for a given day. */
import type { SystemOptions } from "../harmony/messages.ts";
import type { Settings } from "./settings.ts";

export function systemOptions(settings: Settings, now: number): Omit<SystemOptions, "effort"> {
  const { identity, knowledgeCutoff, date } = settings;
  return {
    identity,
    knowledgeCutoff,
    ...(date !== "none" && { date: date === "today" ? toDay(now) : date }),
  };
}

const DAY_MS = 86_400_000;
/** Printed once: it is the same for all requests of a day. */
let lastDay = { number: Number.NaN, text: "" };

/** `2026-11-22`, in UTC, of a time in milliseconds. */
function toDay(now: number): string {
  const number = Math.floor(now / DAY_MS);
  if (number !== lastDay.number) lastDay = { number, text: printDay(number) };
  return lastDay.text;
}

/** Days from 1 March of the year 0 to 1970. */
const DAYS_BEFORE_1970 = 719_468;
/** The Gregorian calendar repeats after 400 years. */
const CYCLE_YEARS = 400;
const CYCLE_DAYS = 146_097;

/**
 * The day with this number since 1970. Years are counted from March, so that the leap day is their last.
 *
 * Without `Date`: the first object of a process loads the time zone, 1.3 MB of a Worker's memory, and `toISOString` also the
 * names of all time zones, another 0.7 MB.
 */
function printDay(number: number): string {
  const days = number + DAYS_BEFORE_1970;
  const cycle = Math.floor(days / CYCLE_DAYS);
  const ofCycle = days - cycle * CYCLE_DAYS;
  const leapDays =
    Math.trunc(ofCycle / 1460) - Math.trunc(ofCycle / 36_524) + Math.trunc(ofCycle / 146_096);
  const yearOfCycle = Math.trunc((ofCycle - leapDays) / 365);
  const yearStart = 365 * yearOfCycle + Math.trunc(yearOfCycle / 4) - Math.trunc(yearOfCycle / 100);
  const ofYear = ofCycle - yearStart;
  const monthFromMarch = Math.trunc((5 * ofYear + 2) / 153);
  const day = ofYear - Math.trunc((153 * monthFromMarch + 2) / 5) + 1;
  const month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9;
  const year = cycle * CYCLE_YEARS + yearOfCycle + (month <= 2 ? 1 : 0);
  return [year, month, day].map((part) => String(part).padStart(2, "0")).join("-");
}
