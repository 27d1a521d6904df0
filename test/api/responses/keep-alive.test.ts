import { expect, test } from "vitest";
import { PrefillNote } from "../../../src/api/reply/prefill-note.ts";
import { eventIntervalMs, keepAliveFrames } from "../../../src/api/responses/stream-response.ts";
import { KEEP_ALIVE } from "../../../src/api/reply/event-stream.ts";
import { end, eventWriter } from "./turn-events.ts";

const typesOf = (frame: string) => [...frame.matchAll(/^event: (.*)$/gm)].map(([, type]) => type);

test("every fourth keep-alive is an event, and the first announces the response", () => {
  const writer = eventWriter();
  const next = keepAliveFrames(writer, new PrefillNote(), 15_000);
  expect([next(), next(), next()]).toEqual([KEEP_ALIVE, KEEP_ALIVE, KEEP_ALIVE]);
  expect(typesOf(next())).toEqual(["response.created", "response.in_progress"]);
  const started = writer.push({ type: "start", promptTokens: 1 });
  expect(started.map(({ type }) => type)).toEqual(["response.in_progress"]);
  expect(started[0]?.json).toContain('"sequence_number":2');
  expect(["", "", "", ""].map(() => typesOf(next())).at(-1)).toEqual(["response.in_progress"]);
});

test("after the end keep-alives are comments", () => {
  const writer = eventWriter();
  writer.push({ type: "start", promptTokens: 1 });
  writer.push(end("stop"));
  expect(keepAliveFrames(writer, new PrefillNote(), 600_000)()).toBe(KEEP_ALIVE);
});

test("while a failure is being stored, keep-alives are comments, because its events have their numbers already", () => {
  const writer = eventWriter();
  writer.push({ type: "start", promptTokens: 1 });
  writer.fail({
    status: 502,
    message: "The engine failed.",
    type: "server_error",
    param: null,
    errorType: "provider_unavailable",
  });
  expect(keepAliveFrames(writer, new PrefillNote(), 600_000)()).toBe(KEEP_ALIVE);
});

test("an event comes at least every two minutes, unless keep-alives are rarer", () => {
  expect([5_000, 15_000, 60_000, 120_000, 300_000].map(eventIntervalMs)).toEqual([
    20_000, 60_000, 120_000, 120_000, 300_000,
  ]);
});
