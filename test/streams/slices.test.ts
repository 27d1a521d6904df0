import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createPause, runInSlices } from "../../src/streams/slices.ts";

/** Work of the given number of steps. */
function* work(steps: number): Generator<number, string> {
  for (let step = 1; step < steps; step++) yield step;
  return "done";
}

function options(fields: { check?: (value: number) => void; signal?: AbortSignal } = {}) {
  let pauses = 0;
  return {
    check: () => {},
    signal: undefined,
    ...fields,
    pause: async () => {
      pauses++;
    },
    get pauses() {
      return pauses;
    },
  };
}

describe("work in slices", () => {
  test("is synchronous if it ends within the first slice", () => {
    expect(runInSlices(work(2), options())).toBe("done");
  });

  test("pauses after every two steps", async () => {
    const given = options();
    expect(await runInSlices(work(41), given)).toBe("done");
    expect(given.pauses).toBe(20);
  });

  test("ends when the check throws", async () => {
    const seen: number[] = [];
    const check = (value: number) => {
      seen.push(value);
      if (value === 6) throw new Error("enough");
    };
    await expect(runInSlices(work(100), options({ check }))).rejects.toThrow("enough");
    expect(seen).toEqual([1, 2, 3, 4, 5, 6]);
  });

  test("ends when the signal is aborted", async () => {
    const leaving = new AbortController();
    const running = runInSlices(work(100), options({ signal: leaving.signal }));
    leaving.abort(new Error("left"));
    await expect(running).rejects.toThrow("left");
  });
});

test("if many are paused, one continues per iteration of the event loop", async () => {
  const turns: (() => void)[] = [];
  const pause = createPause(() => new Promise((resolve) => turns.push(resolve)));
  const gone: string[] = [];
  const all = ["a", "b", "c"].map(async (name) => {
    await pause();
    gone.push(name);
  });
  for (const expected of [["a"], ["a", "b"], ["a", "b", "c"]]) {
    for (let tick = 0; tick < 10; tick++) await Promise.resolve();
    expect(turns).toHaveLength(1);
    turns.pop()?.();
    for (let tick = 0; tick < 10; tick++) await Promise.resolve();
    expect(gone).toEqual(expected);
  }
  await Promise.all(all);
});

test("a pause of a cancelled request, which never ends on Workers, holds up the others for five seconds only", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  let pauses = 0;
  const pause = createPause(() => (pauses++ === 0 ? new Promise(() => {}) : Promise.resolve()));
  void pause();
  const gone: string[] = [];
  const others = ["a", "b"].map((name) => pause().then(() => gone.push(name)));
  await vi.advanceTimersByTimeAsync(4_999);
  expect(gone).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(gone).toEqual(["a", "b"]);
  await Promise.all(others);
});
