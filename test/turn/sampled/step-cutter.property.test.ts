/** The messages that a step keeps are those that a second parser reads without a repair. */
import { array, assert, asyncProperty, constantFrom } from "fast-check";
import { expect, test } from "vitest";
import { CALL } from "../../../src/harmony/index.ts";
import type { TokenId } from "../../../src/tokenizer/index.ts";
import { findCleanMessages } from "../../helpers/clean-messages.ts";
import { completion } from "../../helpers/completions.ts";
import { fakeBrowser } from "../../helpers/fake-tool.ts";
import { scriptedEngine } from "../../helpers/scripted-engine.ts";
import { spelledIds } from "../../helpers/spelled.ts";
import {
  offeredTool,
  startTurn,
  turnWith,
  turnWithTools,
  type Turn,
  type OnFact,
  type TurnEvent,
} from "../../helpers/turns.ts";

type SampledStep = NonNullable<Extract<TurnEvent, { type: "part-end" }>["sampled"]>;
type SampledSpan = SampledStep["spans"][number];

interface Call {
  readonly name: string;
  readonly text: string;
  readonly sampled: SampledStep;
}

/** The client's calls of a turn, and all ids that the model has read and written. */
async function run(completions: readonly (readonly TokenId[])[], turn: Turn, batch: number) {
  const engine = scriptedEngine((_, call) => completions[call % completions.length] ?? [], {
    batch,
  });
  let ids: TokenId[] = [];
  let parsing: Parameters<typeof findCleanMessages>[2] | undefined;
  const onFact: OnFact = (fact) => {
    if (fact.type === "rendered") parsing = fact.parsing;
    else if (fact.type === "called") ids = [...fact.request.prompt.ids];
    else if (fact.type === "parsed" && fact.tokens.type === "ids") ids.push(...fact.tokens.ids);
  };
  const calls: Call[] = [];
  let open: { name: string; text: string } | undefined;
  const events = startTurn(engine, turn, { onFact, contextLength: 20_000 });
  for await (const event of events) {
    if (event.type === "part-start") {
      open = event.part.kind === "tool-call" ? { name: event.part.name, text: "" } : undefined;
    } else if (event.type === "part-delta" && open !== undefined) open.text += event.text;
    else if (event.type === "part-end" && open !== undefined && event.sampled)
      calls.push({ ...open, sampled: event.sampled });
  }
  return { calls, ids, parsing: parsing ?? {} };
}

/** The ids between two places. A call that ended without a token gets one. */
function between(ids: readonly TokenId[], { start, end }: SampledStep): TokenId[] {
  const own = ids.slice(start.length, end.length);
  return own.length < end.length - start.length ? [...own, CALL] : own;
}

const TOOLS = [offeredTool("get_weather"), offeredTool("get_time")];
const shape = constantFrom<Partial<Turn>>(
  { tools: TOOLS },
  { tools: TOOLS, reasoning: { enabled: false } },
  { tools: TOOLS, reasoning: { enabled: true, maxTokens: 20 } },
  { tools: TOOLS, toolChoice: { type: "required", names: ["get_weather", "get_time"] } },
  { ...turnWithTools([fakeBrowser()]), tools: TOOLS },
);

const THINK = "<|channel|>analysis<|message|>So.<|end|><|start|>assistant";
/** More calls than random scraps have. */
const call = constantFrom(
  `${THINK}<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"a":1}<|call|>`,
  `${THINK} to=functions.get_time<|channel|>commentary json<|message|>{}<|call|>`,
  `<|channel|>functions.get_time<|channel|>commentary json<|message|>{}<|call|>`,
  `<|start|>assistant<|channel|>analysis to=functions.get_time code<|message|>{}}<|call|>`,
  `<|start|>assistant<|start|>assistant<|channel|>commentary to=functions.get_time<|message|>{}<|call|>`,
  `<|start|>assistant<|channel|>analysis<|message|><|end|>${THINK}<|channel|>commentary to=get_time<|message|>{}<|call|>`,
).map((text) => spelledIds(text));

test("of any completion, in reads of any size", async () => {
  let [kept, left] = [0, 0];
  await assert(
    asyncProperty(
      array(array(call, { maxLength: 3 }), { minLength: 1, maxLength: 2 }),
      completion,
      shape,
      constantFrom(1, 3, 1000),
      async (written, scraps, fields, batch) => {
        const completions = written.map((calls) => [...calls.flat(), ...scraps]);
        const { calls, ids, parsing } = await run(completions, turnWith(fields), batch);
        for (const { name, text, sampled } of calls) {
          const own = between(ids, sampled);
          const found: SampledSpan[] = findCleanMessages(own, { name, text }, parsing);
          expect(sampled.spans).toEqual(found);
          kept += found.length;
          left += own.filter((id) => id === 200_006).length - found.length;
        }
      },
    ),
    { numRuns: Number(process.env["RUNS"] ?? 300) },
  );
  expect(Math.min(kept, left)).toBeGreaterThan(100);
});
