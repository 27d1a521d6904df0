/** Ids of calls name the form of the call's header. */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { CALL_FORMS } from "../../src/harmony/call-form.ts";
import { formInId, withForm } from "../../src/turn/call-id.ts";

const RANDOM = "0123456789abcdef0123456789abcdef";

test.each(CALL_FORMS)("a call in the form $name has it in its id", (form) => {
  const id = withForm(`call_${RANDOM}`, form.header);
  expect(id).toMatch(/^call_h[a-t][0-9a-f]{32}$/);
  expect(formInId(id)).toBe(form);
});

test("two ids with the same random part differ in nothing but the form", () => {
  const ids = CALL_FORMS.map(({ header }) => withForm(`call_${RANDOM}`, header));
  expect(new Set(ids).size).toBe(CALL_FORMS.length);
  expect(new Set(ids.map((id) => id.slice("call_hx".length)))).toEqual(new Set([RANDOM]));
});

test.each([
  ["a header in no form", `call_${RANDOM}`, { channel: "final", order: "channel-first" }],
  ["no header", `call_${RANDOM}`, undefined],
  ["a short id", "call_1", CALL_FORMS[0]?.header],
  ["an id with another beginning", `toolu_${RANDOM}`, CALL_FORMS[0]?.header],
] as const)("%s leaves the id as it is", (_, id, header) => {
  expect(withForm(id, header)).toBe(id);
});

test.each([
  "",
  "call_",
  "call_ha",
  "call_hzabcdefabcdefabcdef",
  `call_${RANDOM}`,
  `toolu_ha${RANDOM}`,
  `call_ha${RANDOM} `,
  `call_ha${RANDOM}\n`,
  `x call_ha${RANDOM}`,
])("%j names no form", (id) => {
  expect(formInId(id)).toBeUndefined();
});

test("whatever a client sends as an id, its form is one of the well-formed ones, or none", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.stringMatching(/^call_h[a-z][\w-]{14,20}$/)), (id) => {
      const form = formInId(id);
      expect(form === undefined || CALL_FORMS.includes(form)).toBe(true);
    }),
  );
});
