import { expect, test } from "vitest";
import { toIdsBody, toJsonBody } from "../../src/engines/request-body.ts";
import { spelledPrompt } from "../helpers/spelled.ts";
import { requestText } from "../helpers/request-text.ts";
import { toPrompt } from "../../src/doctor/prompts.ts";

const IDS = [200006, 1428, 200008, 0, 201_087];
const prompt = toPrompt(IDS);

test.each([
  ["with texts, values and other scripts", { schema: '{"a":"é世"}' }, { model: "m", é: "世" }, {}],
  ["without other members", {}, {}, {}],
  ["with undefined ones", { schema: undefined }, { model: undefined }, {}],
  ["with the operator's fields", {}, { model: "m" }, { model: null, priority: 2 }],
  ["whose prompt the operator replaces", {}, { model: "m" }, { prompt: [1] }],
  ["whose prompt the operator removes", {}, { model: "m" }, { prompt: null }],
])("a body of ids has the bytes of its text: %s", (_, texts, values, extra) => {
  const body = toIdsBody({ member: "prompt", prompt }, texts, values, extra);
  const text = toJsonBody({ prompt: `[${IDS.join(",")}]`, ...texts }, values, extra);
  expect(requestText(body)).toBe(text);
});

test("parts of a prompt are joined, and empty ones may be among them", () => {
  const bytes = (text: string) => new TextEncoder().encode(text);
  const toBody = (...parts: string[]) =>
    requestText(
      toIdsBody(
        { member: "prompt", prompt: { ...spelledPrompt(""), idsJson: () => parts.map(bytes) } },
        {},
        {},
      ),
    );
  expect(toBody(",1,2", "", ",3")).toBe('{"prompt":[1,2,3]}');
  expect(toBody("", ",1")).toBe('{"prompt":[1]}');
  expect(toBody()).toBe('{"prompt":[]}');
});
