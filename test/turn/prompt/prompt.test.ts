import { describe, expect, test } from "vitest";
import { createRenderer, type Message } from "../../../src/harmony/index.ts";
import {
  encodeText,
  type PromptOptions,
  renderPrompt,
  TurnPrompt,
} from "../../../src/turn/prompt/prompt.ts";
import { o200kHarmony } from "../../../src/tokenizer/index.ts";

interface Counted extends PromptOptions {
  readonly pauses: number;
}

let tenants = 0;

/** Each call has another tenant, so that nothing is cached. */
function options(contextLength?: number): Counted {
  let pauses = 0;
  return {
    layout: "reference",
    tenant: `tenant ${tenants++}`,
    contextLength,
    signal: undefined,
    pause: async () => {
      pauses++;
    },
    get pauses() {
      return pauses;
    },
  };
}

const user = (content: string): Message => ({ role: "user", content });

function developer(tool: { readonly name: string; readonly description: string }): Message {
  const namespaces = [{ key: "functions", name: "functions", functions: [tool] }];
  return { role: "developer", content: [{ type: "developer", namespaces }] };
}

const WORDS = "The quick brown fox jumps over the lazy dog. ";
const TOO_LONG = /maximum context length is 1000 tokens, .* are more than 1000 tokens long/;

describe("rendering a prompt", () => {
  test("is synchronous for an ordinary one", () => {
    const messages = [user(WORDS.repeat(100))];
    expect(renderPrompt(messages, options())).not.toBeInstanceOf(Promise);
  });

  test.each([
    ["one long text", [user(WORDS.repeat(10_000))]],
    ["many short ones", Array.from({ length: 2_000 }, (_, n) => user(`${n} ${WORDS}`))],
    ["a word without end", [user("abcdefghij".repeat(20_000))]],
  ])("pauses, and gives what rendering at once gives: %s", async (_, messages) => {
    const given = options();
    const prompt = await renderPrompt(messages, given);
    expect(prompt.ids).toEqual(createRenderer().renderCompletion({ messages }).ids);
    expect(given.pauses).toBeGreaterThanOrEqual(2);
  });

  test("is synchronous for a long one that is cached", async () => {
    const messages = [user(WORDS.repeat(10_000))];
    const given = options();
    const first = await renderPrompt(messages, given);
    const again = renderPrompt([...messages], { ...given });
    expect(again).not.toBeInstanceOf(Promise);
    expect((await again).ids).toEqual(first.ids);
  });

  test("a text of one tenant is encoded again for another", async () => {
    const messages = [user(`A secret. ${WORDS.repeat(10_000)}`)];
    await renderPrompt(messages, options());
    expect(renderPrompt(messages, options())).toBeInstanceOf(Promise);
  });
});

describe("a prompt that is longer than the context", () => {
  test("by little is encoded completely, to report its length", () => {
    const prompt = renderPrompt([user("many words ".repeat(600))], options(1000));
    expect(prompt).toMatchObject({ length: expect.any(Number) });
    expect(prompt).not.toBeInstanceOf(Promise);
  });

  test("by much is not encoded to its end", async () => {
    const given = options(1000);
    const messages = [user("many words ".repeat(11_000))];
    await expect(async () => renderPrompt(messages, given)).rejects.toThrow(TOO_LONG);
    expect(given.pauses).toBeLessThanOrEqual(1);
  });

  test("by its number of characters alone is not encoded", () => {
    const messages = [user("a".repeat(128_001))];
    expect(() => renderPrompt(messages, options(1000))).toThrow(TOO_LONG);
    expect(() => encodeText("a".repeat(128_001), options(1000))).toThrow(TOO_LONG);
  });

  test("by the lines of a tool's description is not encoded: each becomes a comment", () => {
    const lines = (count: number) => [developer({ name: "f", description: "\n".repeat(count) })];
    expect(() => renderPrompt(lines(1001), options(1000))).toThrow(TOO_LONG);
    expect(renderPrompt(lines(400), options(1000))).toMatchObject({ length: expect.any(Number) });
  });

  test("is refused as well if the context length is unknown", async () => {
    const messages = [user("a".repeat(128 * 1_048_576 + 1))];
    expect(() => renderPrompt(messages, options())).toThrow(
      "The messages and tools are more than 1048576 tokens long. The engine of this model does not report its context length, so that is the limit.",
    );
  });

  test("is also detected in an endless word", async () => {
    const given = options(1000);
    const messages = [user("qjxzvk".repeat(20_000))];
    await expect(async () => renderPrompt(messages, given)).rejects.toThrow(TOO_LONG);
    expect(given.pauses).toBeLessThanOrEqual(1);
  });
});

test("the choices of a request share their prompt", async () => {
  const prompt = new TurnPrompt([user(WORDS.repeat(10_000))]);
  const given = options();
  const prompts = await Promise.all([1, 2, 3].map(async () => prompt.render(given)));
  expect(new Set(prompts).size).toBe(1);
  const pauses = given.pauses;
  await prompt.render(given);
  expect(given.pauses).toBe(pauses);
});

test("a text is encoded in slices", async () => {
  const given = options();
  const text = "Donaudampfschifffahrt".repeat(10_000);
  expect(await encodeText(text, given)).toEqual(o200kHarmony().encode(text));
  expect(given.pauses).toBeGreaterThan(2);
});
