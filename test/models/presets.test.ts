import { describe, expect, test } from "vitest";
import { onlyAllowed } from "../../src/models/allowed-models.ts";
import { createModels } from "../../src/models/models.ts";
import type { Preset } from "../../src/turn/preset.ts";
import { fakeEngine } from "../helpers/fake-engine.ts";

const preset = (name: string, model: string): Preset => ({
  name,
  model,
  lock: [],
  description: "",
  unlisted: false,
});

const deps = { newCallId: () => "call_1" };
const models = createModels(
  [
    { id: "openai/small", aliases: ["tiny"], engine: fakeEngine() },
    { id: "big", engine: fakeEngine() },
  ],
  { ...deps, presets: [preset("review", "tiny"), preset("draft", "big")] },
);

test("the preset of a model that is not served is left out", () => {
  const none = createModels([], { ...deps, presets: [preset("review", "small")] });
  expect([none.presets, none.find("review")]).toEqual([[], undefined]);
});

test.each([
  ["review", "openai/small", "review"],
  ["openai/review:free", "openai/small", "review"],
  ["@preset/draft-low", "big", "draft"],
  ["big@preset/review", "big", "review"],
  ["tiny:nitro@preset/draft", "openai/small", "draft"],
  ["small", "openai/small", undefined],
])("%s is %s with preset %s", (name, model, named) => {
  const found = models.find(name);
  expect([found?.model.id, found?.preset?.name]).toEqual([model, named]);
});

describe("a client that may use some of them", () => {
  test.each<[allowed: string[], used: string[], refused: string[]]>([
    [["tiny"], ["small", "openai/small:high", "tiny"], ["review", "big", "small@preset/review"]],
    [["review"], ["review", "@preset/review", "review-low"], ["small", "big@preset/review"]],
    [
      ["big", "review"],
      ["big@preset/review", "big", "review"],
      ["small@preset/draft", "draft"],
    ],
    [["openai/draft"], ["draft"], ["big", "@preset/review"]],
  ])("%j", (allowed, used, refused) => {
    const own = onlyAllowed(models, allowed);
    expect(used.filter((name) => own.find(name) === undefined)).toEqual([]);
    expect(refused.filter((name) => own.find(name) !== undefined)).toEqual([]);
  });

  test("lists no others", () => {
    const own = onlyAllowed(models, ["tiny", "draft"]);
    expect(own.all.map(({ id }) => id)).toEqual(["openai/small"]);
    expect(own.presets.map((each) => each.preset.name)).toEqual(["draft"]);
  });
});
