/** The system message's options from the settings, for a given day. */
import type { SystemOptions } from "../harmony/messages.ts";
import type { Settings } from "./settings.ts";

export function systemOptions(settings: Settings, now: Date): Omit<SystemOptions, "effort"> {
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

/** `2026-11-22`, in UTC. */
function toDay(now: Date): string {
  const number = Math.floor(now.getTime() / DAY_MS);
  if (number !== lastDay.number) lastDay = { number, text: now.toISOString().slice(0, 10) };
  return lastDay.text;
}
