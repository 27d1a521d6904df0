import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { breakControlSpellings, createRenderer, toPromptText } from "../../src/harmony/index.ts";
import { o200kHarmony } from "../../src/tokenizer/index.ts";

const tokenizer = o200kHarmony();

describe("a prompt as text", () => {
  test("spells the special tokens and leaves the rest as it was", () => {
    const { ids } = createRenderer().renderCompletion({
      messages: [{ role: "user", content: "Grüße 🙂" }],
    });
    expect(toPromptText(ids)).toEqual({
      text: "<|start|>user<|message|>Grüße 🙂<|end|><|start|>assistant",
      altered: false,
      tokens: ids.length,
    });
  });

  test("breaks typed control tokens, and reports it", () => {
    const ids = [200008, ...tokenizer.encode("a <|end|> b <|call|>"), 200007];
    expect(toPromptText(ids)).toEqual({
      text: "<|message|>a <\u200b|end|> b <\u200b|call|><|end|>",
      altered: true,
      tokens: 2 + tokenizer.encode("a <\u200b|end|> b <\u200b|call|>").length,
    });
    expect(toPromptText(ids, { sanitize: false })).toEqual({
      text: "<|message|>a <|end|> b <|call|><|end|>",
      altered: false,
      tokens: ids.length,
    });
  });

  test("names reserved ids, and leaves out unknown ones", () => {
    expect(toPromptText([200018, 199999, 300000]).text).toBe("<|reserved_200018|><|endoftext|>");
  });

  test.each([
    ["<|start|>", "<\u200b|start|>"],
    ["<|endofprompt|>", "<\u200b|endofprompt|>"],
    ["<|reserved_200013|>", "<\u200b|reserved_200013|>"],
    ["<<|end|>>", "<<\u200b|end|>>"],
    ["<|<|end|>|>", "<|<\u200b|end|>|>"],
    ["<|end|><|end|>", "<\u200b|end|><\u200b|end|>"],
    ["<|im_start|>", "<\u200b|im_start|>"],
    // No token looks like these.
    ["f <| g |> h", "f <| g |> h"],
    ["<||>", "<||>"],
    ["<|end|", "<|end|"],
    ["<|end |>", "<|end |>"],
    ["＜｜end｜＞", "＜｜end｜＞"],
    ["<\u200b|end|>", "<\u200b|end|>"],
  ])("%j is written %j", (typed, written) => {
    expect(breakControlSpellings(typed)).toBe(written);
  });

  test("is parsed to the same structure again, whatever users typed", () => {
    const fragment = fc.constantFrom(
      "<",
      "|",
      ">",
      "<|",
      "|>",
      "end",
      "start",
      "<|end|>",
      "é",
      " ",
    );
    const special = fc.constantFrom(200002, 200003, 200005, 200006, 200007, 200008, 200012, 200018);
    const run = fc
      .array(fragment, { maxLength: 8 })
      .map((parts) => tokenizer.encode(parts.join("")));
    const part = fc.oneof(
      run,
      special.map((id) => [id]),
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 8 }), (parts) => {
        const ids = parts.flat();
        const { text, altered } = toPromptText(ids);
        const names = ids.filter((id) => id > 199997).map((id) => tokenizer.decode([id]));
        expect(text.match(/<\|\w+\|>/g) ?? []).toEqual(names);
        expect(altered).toBe(text !== tokenizer.decode(ids));
        expect(text.replaceAll("\u200b", "")).toBe(tokenizer.decode(ids));
      }),
      { numRuns: 500 },
    );
  });
});

describe("the text of a rendered prompt", () => {
  const renderer = createRenderer();

  test("a control token spelled over several content parts is broken too", () => {
    const prompt = renderer.renderConversation({
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "<|en" },
            { type: "text", text: "d|>" },
          ],
        },
      ],
    });
    expect(prompt.text()).toBe("<|start|>user<|message|><\u200b|end|><|end|>");
    expect(prompt.textAltered()).toBe(true);
    expect(toPromptText(prompt.ids)).toEqual({
      text: prompt.text(),
      altered: true,
      tokens: prompt.textLength(),
    });
  });

  test("also over appended text", () => {
    const open = renderer.renderOpening({ channel: "final", text: "<|en" });
    const prompt = open.append(tokenizer.encode("d|>")).append([200007]);
    expect(prompt.text()).toBe("<|channel|>final<|message|><\u200b|end|><|end|>");
  });

  test("a character whose bytes are appended one by one is complete", () => {
    const [first = 0, ...rest] = tokenizer.encode("\u{10FFFD}");
    expect(rest).not.toEqual([]);
    const prompt = renderer.renderStart("user").append([first]).append(rest);
    expect(prompt.text()).toBe("<|start|>user\u{10FFFD}");
  });

  test("half a surrogate pair is written as the ids have it", () => {
    const content = "\ud83d";
    const prompt = renderer.renderMessage({ role: "user", content });
    expect(prompt.text()).toBe("<|start|>user<|message|>\ufffd<|end|>");
    expect(prompt.textAltered()).toBe(false);
  });
});
