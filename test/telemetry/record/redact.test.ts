/** The rest of a record where content is not kept. */
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { redact, redactRecord } from "../../../src/telemetry/record/redact.ts";
import { recordedText, turnRecordSchema } from "../../../src/telemetry/record/schema.ts";

const folder = new URL("../../fixtures/turns/", import.meta.url);

describe.each(readdirSync(folder))("%s", (name) => {
  const record = turnRecordSchema().parse(JSON.parse(readFileSync(new URL(name, folder), "utf8")));

  test("satisfies the schema without content, and keeps sizes and times", () => {
    const redacted = redactRecord(record);
    expect(turnRecordSchema().parse(redacted)).toEqual(redacted);
    expect(redacted.conversation.map(({ tokens }) => tokens)).toEqual(
      record.conversation.map(({ tokens }) => tokens),
    );
    expect(redacted.times).toEqual(record.times);
    for (const { text } of redacted.conversation)
      expect(text).toEqual({ chars: expect.any(Number) });
    expect(redactRecord(redacted)).toBe(redacted);
  });
});

test("a field of text that is added to the schema is redacted, wherever it stands", () => {
  const grown = turnRecordSchema().extend({
    note: recordedText().optional().describe("A field of the future."),
    notes: z.array(
      z.union([
        z.strictObject({ at: z.int() }),
        z.strictObject({ said: recordedText().nullable() }),
      ]),
    ),
  });
  const secret = "xyzzy";
  const [name = ""] = readdirSync(folder);
  const record = JSON.parse(readFileSync(new URL(name, folder), "utf8"));
  const redacted = redact(grown, {
    ...record,
    note: secret,
    notes: [{ at: 1 }, { said: secret }, { said: null }],
    other: secret,
  });
  expect(redacted).toMatchObject({
    note: { chars: 5 },
    notes: [{ at: 1 }, { said: { chars: 5 } }, { said: null }],
  });
  expect(JSON.stringify(redacted)).not.toContain(secret);
});

test("a kind of schema that may hold content, and whose members are not known, is refused", () => {
  const grown = z.strictObject({ pair: z.tuple([recordedText(), recordedText()]) });
  expect(() => redact(grown, { pair: ["a", "b"] })).toThrow(
    "a kind of schema that may hold content",
  );
});
