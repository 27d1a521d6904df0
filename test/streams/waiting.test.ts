import { getEventListeners } from "node:events";
import { expect, test, vi } from "vitest";
import { Wait } from "../../src/streams/waiting.ts";

test.each([
  ["granted", (wait: Wait<string>) => wait.grant("a place"), ["a place"]],
  ["refused", (wait: Wait<string>) => wait.refuse(() => "busy"), ["busy"]],
  ["aborted", (_: Wait<string>, abort: AbortController) => abort.abort("gone"), ["gone"]],
])("a wait that is %s leaves its queue, its timer and its signal once", async (_, end, outcome) => {
  const abort = new AbortController();
  const leave = vi.fn<() => void>();
  const cancel = vi.fn<() => void>();
  const wait = new Wait<string>(abort.signal, leave).limit(cancel);
  const settled = Promise.allSettled([wait.promise]);
  end(wait, abort);
  abort.abort("later");
  wait.refuse(() => "too late");
  const [{ status, ...rest }] = await settled;
  expect(Object.values(rest)).toEqual(outcome);
  expect(status).toBe(outcome[0] === "a place" ? "fulfilled" : "rejected");
  expect([leave.mock.calls.length, cancel.mock.calls.length]).toEqual([1, 1]);
  expect(getEventListeners(abort.signal, "abort")).toEqual([]);
});
