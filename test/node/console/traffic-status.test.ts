import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { showTraffic } from "../../../src/node/console/traffic-status.ts";

const NOTHING = { inFlight: 0, queued: 0, tokens: 0 };

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Shows one traffic after the other, each for half a second, and returns the lines. */
function linesOf(traffic: readonly (typeof NOTHING)[]): string[] {
  const lines: string[] = [];
  const left = [...traffic];
  const stop = showTraffic(
    () => left.shift() ?? NOTHING,
    (text) => lines.push(text),
  );
  vi.advanceTimersByTime(500 * traffic.length);
  stop();
  vi.advanceTimersByTime(5000);
  return lines;
}

test("the line has the running and the waiting turns, and the speed of the last two seconds", () => {
  const lines = linesOf([
    NOTHING,
    { inFlight: 3, queued: 1, tokens: 0 },
    { inFlight: 3, queued: 1, tokens: 100 },
    { inFlight: 2, queued: 0, tokens: 1200 },
    { inFlight: 2, queued: 0, tokens: 1700 },
    { inFlight: 2, queued: 0, tokens: 1700 },
    { inFlight: 2, queued: 0, tokens: 1700 },
    { ...NOTHING, tokens: 1700 },
    { inFlight: 1, queued: 0, tokens: 1700 },
    { inFlight: 1, queued: 0, tokens: 1750 },
  ]);
  expect(lines).toEqual([
    "",
    "  2 running · 1 queued",
    "  2 running · 1 queued · 100 tokens/s",
    "  2 running · 800 tokens/s",
    "  2 running · 850 tokens/s",
    "  2 running · 850 tokens/s",
    "  2 running · 800 tokens/s",
    "",
    "  1 running",
    "  1 running · 50 tokens/s",
    "",
  ]);
});

test("the line is empty when it is stopped", () => {
  const running = { inFlight: 1, queued: 0, tokens: 0 };
  expect(linesOf([running, running])).toEqual(["  1 running", "  1 running", ""]);
});
