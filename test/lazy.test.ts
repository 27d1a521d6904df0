import { expect, test, vi } from "vitest";
import { lazy } from "../src/lazy.ts";

test("a value is computed at the first call and cached", () => {
  const make = vi.fn<() => object>(() => ({}));
  const get = lazy(make);
  expect(make).not.toHaveBeenCalled();
  const first = get();
  expect(get()).toBe(first);
  expect(make).toHaveBeenCalledTimes(1);
});

test("undefined is a value like any other", () => {
  const make = vi.fn<() => undefined>(() => undefined);
  const get = lazy(make);
  expect([get(), get()]).toEqual([undefined, undefined]);
  expect(make).toHaveBeenCalledTimes(1);
});
