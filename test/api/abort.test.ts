import { expect, test } from "vitest";
import { createAbort } from "../../src/api/abort.ts";

test("aborts when the request does, for the same reason", () => {
  const request = new AbortController();
  const abort = createAbort(request.signal);
  expect(abort.signal.aborted).toBe(false);
  request.abort("left");
  expect([abort.signal.aborted, abort.signal.reason]).toEqual([true, "left"]);
});

test("is aborted from the beginning when the client has disconnected already", () => {
  const { signal } = createAbort(AbortSignal.abort("left before"));
  expect([signal.aborted, signal.reason]).toEqual([true, "left before"]);
});

test("aborts for a reason of its own, which the request does not hear of and leaving does not change", () => {
  const request = new AbortController();
  const abort = createAbort(request.signal);
  abort.abort("enough");
  expect(request.signal.aborted).toBe(false);
  request.abort("left");
  expect(abort.signal.reason).toBe("enough");
});
