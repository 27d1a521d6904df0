import { expect, test } from "vitest";
import { createMemoryStore, EngineError } from "../../../src/index.ts";
import { ImageDescriptions, isOutage } from "../../../src/api/media/image-descriptions.ts";
import { CallsRest, TenantCalls } from "../../../src/api/media/tenant-calls.ts";

const never = new AbortController().signal;
const options = { signal: never, isOutage };

const create = (clock = () => 0) => new TenantCalls({ clock, maxRunning: 4, longestMs: 1000 });

/** A call that the test ends. */
function held() {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  return { call: () => promise, resolve, reject };
}

test("four calls of a tenant run at a time, and others do not wait for them", async () => {
  const calls = create();
  const begun: number[] = [];
  const works = Array.from({ length: 6 }, () => held());
  const ends = works.map(({ call }, index) => {
    const begin = () => {
      begun.push(index);
      return call();
    };
    return calls.run("a", begin, options);
  });
  expect(await calls.run("b", () => Promise.resolve("b"), options)).toBe("b");
  expect(begun).toEqual([0, 1, 2, 3]);
  works[2]?.resolve("2");
  await ends[2];
  await expect.poll(() => begun).toEqual([0, 1, 2, 3, 4]);
  works[0]?.reject(new Error("0"));
  await expect(ends[0]).rejects.toThrow("0");
  await expect.poll(() => begun).toEqual([0, 1, 2, 3, 4, 5]);
  for (const { resolve } of works) resolve("done");
  await Promise.allSettled(ends);
  // All places are free again.
  expect(await calls.run("a", () => Promise.resolve("again"), options)).toBe("again");
});

test("one that is given up while it waits takes no place", async () => {
  const calls = create();
  const works = Array.from({ length: 4 }, () => held());
  const ends = works.map(({ call }) => calls.run("a", call, options));
  const abort = new AbortController();
  let hasBegun = false;
  const begin = () => {
    hasBegun = true;
    return Promise.resolve("");
  };
  const given = calls.run("a", begin, { ...options, signal: abort.signal });
  abort.abort(new Error("left"));
  await expect(given).rejects.toThrow("left");
  for (const { resolve } of works) resolve("");
  await Promise.all(ends);
  expect(hasBegun).toBe(false);
  expect(await calls.run("a", () => Promise.resolve("next"), options)).toBe("next");
});

test("after three outages in a row a tenant's calls fail at once for ten seconds, and no other's", async () => {
  let now = 0;
  const calls = create(() => now);
  const down = () => Promise.reject(new EngineError("unreachable", "down"));
  const up = () => Promise.resolve("up");
  for (let at = 0; at < 3; at++) {
    await expect(calls.run("a", down, options)).rejects.toThrow("down");
  }
  await expect(calls.run("a", up, options)).rejects.toThrow(CallsRest);
  expect(await calls.run("b", up, options)).toBe("up");
  now = 10_000;
  await expect(calls.run("a", down, options)).rejects.toThrow("down");
  await expect(calls.run("a", up, options)).rejects.toThrow(CallsRest);
  now = 20_000;
  expect(await calls.run("a", up, options)).toBe("up");
});

test("images that the server refuses are no outage", async () => {
  const calls = create();
  const refused = () => Promise.reject(new EngineError("bad-request", "bad image"));
  for (let at = 0; at < 5; at++) {
    await expect(calls.run("a", refused, options)).rejects.toThrow("bad image");
  }
  expect(await calls.run("a", () => Promise.resolve("up"), options)).toBe("up");
});

test("calls that never end hold their places only as long as a call may take", async () => {
  let now = 0;
  const calls = create(() => now);
  for (let at = 0; at < 4; at++) void calls.run("a", () => new Promise<never>(() => {}), options);
  const abort = new AbortController();
  const early = calls.run("a", () => Promise.resolve("early"), {
    ...options,
    signal: abort.signal,
  });
  now = 1001;
  expect(await calls.run("a", () => Promise.resolve("late"), options)).toBe("late");
  abort.abort(new Error("left"));
  await expect(early).rejects.toThrow("left");
});

test("the description of an image whose call never ends delays no other request", async () => {
  let now = 0;
  const descriptions = new ImageDescriptions({
    store: createMemoryStore({ maxEntries: 10, maxBytes: 1000, now: () => 0 }),
    ttlSeconds: 1,
    onUnreadable: () => undefined,
    vision: {
      name: "sees",
      describe: () => Promise.resolve({ text: "A cat.", promptTokens: 1, completionTokens: 1 }),
    },
    timeoutMs: 60_000,
    clock: () => now,
  });
  const key = { tenant: "a", digest: "1", isBrief: false };
  const abort = new AbortController();
  const hung = descriptions.describe(key, () => new Promise<never>(() => {}), abort.signal);
  now = 120_000;
  const load = () => Promise.resolve({ mediaType: "image/png", base64: "" });
  expect(await descriptions.describe(key, load, never)).toMatchObject({
    text: "A cat.",
    isShared: false,
  });
  abort.abort(new Error("left"));
  await expect(hung).rejects.toThrow("left");
});
