import { expect, test } from "vitest";
import { createAbort } from "../../src/streams/follow-signal.ts";

test("aborts with the request, for the same reason", () => {
  const request = new AbortController();
  const abort = createAbort(request.signal);
  expect(abort.signal.aborted).toBe(false);
  request.abort("left");
  expect([abort.signal.aborted, abort.signal.reason]).toEqual([true, "left"]);
});

test("is aborted at once if the client has already disconnected", () => {
  const { signal } = createAbort(AbortSignal.abort("left before"));
  expect([signal.aborted, signal.reason]).toEqual([true, "left before"]);
});

test("can be aborted on its own, without aborting the request; a later disconnect does not change the reason", () => {
  const request = new AbortController();
  const abort = createAbort(request.signal);
  abort.abort("enough");
  expect(request.signal.aborted).toBe(false);
  request.abort("left");
  expect(abort.signal.reason).toBe("enough");
});
