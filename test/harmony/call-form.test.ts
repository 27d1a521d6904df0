/** The forms of a call's header: each is parsed as what it is, and rendered as it was written. */
import { describe, expect, test } from "vitest";
import { CALL_FORMS, type CallForm, formOf } from "../../src/harmony/call-form.ts";
import { createParser, createRenderer, type Layout } from "../../src/harmony/index.ts";
import { o200kHarmony } from "../../src/tokenizer/index.ts";

const LAYOUTS: readonly Layout[] = ["reference", "guide", "channel-first"];
const TOOLS: readonly (readonly [string, object])[] = [
  ["functions.f", { toolNames: ["f"] }],
  ["browser.search", { systemTools: [{ name: "browser", functions: ["search"], rawBody: false }] }],
];

function write(recipient: string, { header }: CallForm, layout: Layout): readonly number[] {
  const message = { role: "assistant", recipient, ...header, content: "{}" } as const;
  return createRenderer({ layout }).renderMessage(message).ids.slice(2);
}

describe.each(TOOLS)("a call to %s", (recipient, offered) => {
  test.each(CALL_FORMS)("$name", (form) => {
    const [ids = [], ...others] = LAYOUTS.map((layout) => write(recipient, form, layout));
    expect(others).toEqual(others.map(() => ids));

    const parser = createParser(o200kHarmony(), offered);
    const [start] = parser.pushIds(ids);
    expect(start?.type === "part-start" && formOf(start.header)).toBe(form);
    expect([...parser.recoveries]).toEqual([]);
  });
});

test("the names and headers of the forms are all different", () => {
  const written = CALL_FORMS.map((form) => write("functions.f", form, "reference").join());
  expect(new Set(written).size).toBe(CALL_FORMS.length);
  expect(new Set(CALL_FORMS.map(({ name }) => name)).size).toBe(CALL_FORMS.length);
});

test("the place of a form never changes, because ids of calls name it by its place", () => {
  expect(CALL_FORMS.map(({ name }) => name)).toEqual([
    "recipient-first commentary none",
    "recipient-first commentary json",
    "recipient-first commentary constrain-json",
    "recipient-first commentary joined-constrain-json",
    "recipient-first commentary code",
    "recipient-first analysis none",
    "recipient-first analysis json",
    "recipient-first analysis constrain-json",
    "recipient-first analysis joined-constrain-json",
    "recipient-first analysis code",
    "channel-first commentary none",
    "channel-first commentary json",
    "channel-first commentary constrain-json",
    "channel-first commentary joined-constrain-json",
    "channel-first commentary code",
    "channel-first analysis none",
    "channel-first analysis json",
    "channel-first analysis constrain-json",
    "channel-first analysis joined-constrain-json",
    "channel-first analysis code",
  ]);
});

test.each([
  undefined,
  { channel: "commentary" },
  { channel: "final", order: "channel-first" },
  { channel: "commentary", contentType: "xml", order: "channel-first" },
] as const)("a header in none of the forms: %j", (header) => {
  expect(formOf(header)).toBeUndefined();
});
