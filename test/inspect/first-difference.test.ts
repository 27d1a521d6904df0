import { expect, test } from "vitest";
import { firstDifference } from "../../src/inspect/first-difference.ts";
import { createRecordedApp, type RecordedAppOptions } from "../helpers/recorded-app.ts";
import { scriptedEngine, type ScriptedOptions } from "../helpers/scripted-engine.ts";

const answer = (text: string) => `<|channel|>final<|message|>${text}<|return|>`;

async function recordsOf(
  scripts: readonly string[],
  {
    engine = {},
    ...options
  }: { engine?: ScriptedOptions } & Omit<RecordedAppOptions, "engine"> = {},
  contents: readonly string[] = ["Hi", "Hi"],
): Promise<Parameters<typeof firstDifference>> {
  const app = createRecordedApp({ engine: scriptedEngine(scripts, engine), ...options });
  for (const content of contents) {
    const body = { model: "openai/gpt-oss-20b", messages: [{ role: "user", content }] };
    await (await app.post("/v1/chat/completions", body)).text();
  }
  const [before, after] = await app.records();
  if (before === undefined || after === undefined) throw new Error("two turns are needed");
  return [before, after];
}

const BLUE = answer("The sky is blue today.");
const GREY = answer("The sky is grey.");

test.each(["ids", "text", "pieces"] as const)(
  "equal outputs have no difference, as %s",
  async (form) => {
    const found = firstDifference(...(await recordsOf([BLUE, BLUE], { engine: { form } })));
    expect(found).toEqual({ isSamePrompt: true, output: null });
  },
);

test("of ids, the first token that differs is named, with the text from there", async () => {
  const found = firstDifference(...(await recordsOf([BLUE, GREY])));
  expect(found).toEqual({
    isSamePrompt: true,
    // <|channel|> final <|message|> The sky is
    output: { unit: "token", at: 7, was: " blue today.<|return|>", is: " grey.<|return|>" },
  });
});

test("without ids, the first character of the parts is named", async () => {
  const found = firstDifference(...(await recordsOf([BLUE, GREY], { engine: { form: "text" } })));
  expect(found?.output).toMatchObject({ unit: "character", was: "blue today.", is: "grey." });
});

test("an output that stops early differs where it stops", async () => {
  const short = "<|channel|>final<|message|>The sky<|return|>";
  const found = firstDifference(...(await recordsOf([answer("The sky is"), short])));
  expect(found?.output).toMatchObject({ at: 6, was: " is<|return|>", is: "<|return|>" });
});

test("another prompt is reported", async () => {
  const found = firstDifference(...(await recordsOf([BLUE, BLUE], {}, ["Hi", "Ho"])));
  expect(found).toEqual({ isSamePrompt: false, output: null });
});

test("without content there is nothing to compare", async () => {
  const options = { recorder: { keepsContent: false } };
  expect(firstDifference(...(await recordsOf([BLUE, GREY], options)))).toBeUndefined();
});

test.each([
  ["prompts", ["a ".repeat(6_000), "a ".repeat(6_000)], [BLUE, BLUE]],
  ["outputs", ["Hi", "Hi"], [answer(`${"a ".repeat(6_000)}b`), answer(`${"a ".repeat(6_000)}c`)]],
])("of %s whose record is cut nothing is claimed", async (_, contents, scripts) => {
  const limits = { maxRecordBytes: 40_000, maxTotalBytes: 1_000_000, maxRecords: 10 };
  const engine: ScriptedOptions = { batch: 100 };
  const records = await recordsOf(scripts, { engine, recorder: { limits } }, contents);
  for (const { cut } of records) expect(cut).not.toEqual([]);
  expect(firstDifference(...records)).toBeUndefined();
});
