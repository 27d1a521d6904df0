import { expect, test } from "vitest";
import { describeForLog } from "../../src/telemetry/describe-for-log.ts";
import { createLog, type LogOptions } from "../../src/telemetry/log.ts";
import { TurnError } from "../../src/turn/turn-error.ts";

function logged(level: LogOptions["level"]): unknown[] {
  const lines: unknown[] = [];
  const log = createLog({ level, now: () => 0, write: (line) => lines.push(JSON.parse(line)) });
  log.error("broken", { id: "a", missing: undefined });
  log.warn("odd");
  log.info("done");
  log.debug("detail");
  return lines;
}

const time = "1970-01-01T00:00:00.000Z";

test("a line has a time, a level, an event and its fields", () => {
  expect(logged("error")).toEqual([{ time, level: "error", event: "broken", id: "a" }]);
});

test.each<[LogOptions["level"], number]>([
  ["silent", 0],
  ["error", 1],
  ["warn", 2],
  ["info", 3],
  ["debug", 4],
])("at %s, %i of four levels are written", (level, count) => {
  expect(logged(level)).toHaveLength(count);
});

test("the error of a turn is its kind, as in the metrics", () => {
  expect(describeForLog(new TurnError("shutdown", "It ends."))).toEqual({ error: "shutdown" });
});
