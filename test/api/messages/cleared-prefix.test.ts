/**
 * Tokens that an engine with a prefix cache in blocks of 16 processes in a loop of 40 steps whose old results are cleared.
 * docs/messages.md has the figures.
 */
import type Anthropic from "@anthropic-ai/sdk";
import { expect, test } from "vitest";
import type { TokenId } from "../../../src/tokenizer/index.ts";
import { createBrowsingApp, MODEL } from "../../helpers/browsing-app.ts";
import { scriptedEngine } from "../../helpers/scripted-engine.ts";
import { spelledIds } from "../../helpers/spelled.ts";

const STEPS = 40;
const BLOCK = 16;
const CLEAR = "clear_tool_uses_20250919";

interface Block extends Map<string, Block> {}

/** Holds the blocks of every prompt and of what was sampled after it. */
class PrefixCache {
  readonly #root: Block = new Map();

  /** How many of the ids it holds. */
  find(ids: readonly TokenId[]): number {
    let block = this.#root;
    for (const [index, key] of toBlocks(ids).entries()) {
      const next = block.get(key);
      if (next === undefined) return index * BLOCK;
      block = next;
    }
    return toBlocks(ids).length * BLOCK;
  }

  add(ids: readonly TokenId[]): void {
    let block = this.#root;
    for (const key of toBlocks(ids)) {
      const next: Block = block.get(key) ?? new Map();
      block.set(key, next);
      block = next;
    }
  }
}

/** Whole ones only. */
function toBlocks(ids: readonly TokenId[]): readonly string[] {
  return Array.from({ length: Math.floor(ids.length / BLOCK) }, (_, index) =>
    ids.slice(index * BLOCK, (index + 1) * BLOCK).join(" "),
  );
}

const read: Anthropic.Beta.BetaTool = {
  name: "read",
  input_schema: { type: "object", properties: { path: { type: "string" } } },
};

/** Some 430 tokens. */
function resultOf(step: number): string {
  const lines = Array.from(
    { length: 50 },
    (_, line) => `${line + 1}: value ${step * 7 + line} of ${step}`,
  );
  return lines.join("\n");
}

async function readLoop(
  edit: Omit<Anthropic.Beta.BetaClearToolUses20250919Edit, "type"> | undefined,
) {
  const cache = new PrefixCache();
  const engine = scriptedEngine(({ prompt }, call) => {
    const script =
      `<|channel|>analysis<|message|>File ${call} comes next.<|end|><|start|>assistant` +
      `<|channel|>commentary to=functions.read <|constrain|>json<|message|>{"path":"file-${call}"}<|call|>`;
    const cachedTokens = cache.find(prompt.ids);
    cache.add([...prompt.ids, ...spelledIds(script)]);
    return { write: script, usage: { promptTokens: prompt.ids.length, cachedTokens } };
  });
  const { anthropic } = createBrowsingApp({ engine, toolbox: {}, settings: { layout: "guide" } });
  const messages: Anthropic.Beta.BetaMessageParam[] = [
    { role: "user", content: "Read all files." },
  ];
  let [cached, uncached, longest] = [0, 0, 0];
  for (let step = 0; step < STEPS; step++) {
    const { content, usage } = await anthropic.beta.messages.create({
      model: MODEL,
      max_tokens: 200,
      messages,
      tools: [read],
      ...(edit && { context_management: { edits: [{ type: CLEAR, ...edit } as const] } }),
    });
    const ofCache = usage.cache_read_input_tokens ?? 0;
    cached += ofCache;
    uncached += usage.input_tokens;
    longest = Math.max(longest, ofCache + usage.input_tokens);
    const call = content.find((block) => block.type === "tool_use");
    if (call === undefined) throw new Error("the model made no call");
    const result = { type: "tool_result", tool_use_id: call.id, content: resultOf(step) } as const;
    messages.push({ role: "assistant", content }, { role: "user", content: [result] });
  }
  return { cached, uncached, longest };
}

const trigger = { type: "input_tokens", value: 5000 } as const;
const keep = { type: "tool_uses", value: 3 } as const;

test.each([
  ["nothing is cleared", undefined, { cached: 370_768, uncached: 18_412, longest: 19_343 }],
  [
    "each step clears a result",
    { trigger, keep },
    { cached: 61_216, uncached: 49_969, longest: 4553 },
  ],
  [
    "results are cleared when they are worth it",
    { trigger, keep, clear_at_least: { type: "input_tokens", value: 3000 } as const },
    { cached: 122_352, uncached: 25_468, longest: 6289 },
  ],
])("%s", async (_, edit, expected) => {
  expect(await readLoop(edit)).toEqual(expected);
});
