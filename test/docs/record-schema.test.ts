import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { toRecordSchema } from "../../scripts/record-schema.ts";
import { turnRecordSchema } from "../../src/telemetry/record/schema.ts";

const read = (name: string) => readFileSync(new URL(`../../docs/${name}`, import.meta.url), "utf8");

test("the published schema of a turn's record is up to date", () => {
  expect(read("turn-record.schema.json")).toBe(toRecordSchema());
});

test("the page of the inspector has a row for every part of it", () => {
  const rows = [...read("inspector.md").matchAll(/^\| (`[^|]+`) +\|/gm)];
  const named = rows.flatMap(([, cell = ""]) =>
    [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name),
  );
  expect(new Set(named)).toEqual(new Set(Object.keys(turnRecordSchema().shape)));
});
