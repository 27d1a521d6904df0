import { expect, test } from "vitest";
import { noteWritten, speedOf } from "../../web/inspect/engine-speed.ts";
import type { EngineRow } from "../../web/inspect/types.ts";

const engine = (id: string, written: number): EngineRow => ({
  id,
  written,
  state: "ready",
  reason: null,
  version: null,
  contextLength: null,
  queued: 0,
  backends: [],
});

test("the speed of an engine is that of the last five seconds, and a line of five minutes", () => {
  expect(speedOf("a")).toBeUndefined();
  for (let second = 0; second <= 400; second++) {
    const written = second < 200 ? 0 : (second - 200) * 50;
    noteWritten([engine("a", written), engine("b", 0)], second * 1000);
  }
  const speed = speedOf("a");
  expect(speed?.now).toBe(50);
  expect(speed?.before).toHaveLength(60);
  expect(speed?.before.slice(0, 15).every((value) => value === 0)).toBe(true);
  expect(speed?.before.slice(25).every((value) => value === 50)).toBe(true);
  expect(speedOf("b")?.now).toBe(0);
});

test("a gateway that has been started anew has no negative speed", () => {
  noteWritten([engine("c", 1000)], 0);
  noteWritten([engine("c", 10)], 1000);
  expect(speedOf("c")?.now).toBe(0);
});
