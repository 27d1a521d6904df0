import { expect, test, vi } from "vitest";
import {
  showTraffic,
  type Traffic,
  TrafficStatus,
} from "../../../src/node/console/traffic-status.ts";

const NOTHING: Traffic = { inFlight: 0, queued: 0, tokens: 0 };

test("says what runs and waits, and the speed of the last two seconds", () => {
  const status = new TrafficStatus();
  const lines = [
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
  ].map((traffic, n) => status.next(traffic, n * 500));
  expect(lines).toEqual([
    "",
    "2 running · 1 queued",
    "2 running · 1 queued · 100 tokens/s",
    "2 running · 800 tokens/s",
    "2 running · 850 tokens/s",
    "2 running · 850 tokens/s",
    "2 running · 800 tokens/s",
    "",
    "1 running",
    "1 running · 50 tokens/s",
  ]);
});

test("is shown twice a second until it is stopped", () => {
  vi.useFakeTimers();
  try {
    const shown: string[] = [];
    let inFlight = 1;
    const stop = showTraffic(
      () => ({ ...NOTHING, inFlight }),
      (text) => shown.push(text),
    );
    vi.advanceTimersByTime(1000);
    inFlight = 0;
    vi.advanceTimersByTime(500);
    stop();
    vi.advanceTimersByTime(5000);
    expect(shown).toEqual(["  1 running", "  1 running", "", ""]);
  } finally {
    vi.useRealTimers();
  }
});
