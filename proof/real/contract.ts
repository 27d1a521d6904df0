/**
 * Checks a running inference server against the contract of its adapter, and prints a table.
 *
 *     node proof/real/contract.ts --engine vllm --url http://127.0.0.1:18000
 *
 * The server must serve the tiny model (see README.md), whose answers are known. Exits with 1 if a check failed.
 */
import assert, { AssertionError } from "node:assert/strict";
import { parseArgs } from "node:util";
import { createEngine, ENGINE_KINDS } from "../../src/engines/create-engine.ts";
import type { CompletionRequest } from "../../src/engines/engine.ts";
import type { Sampling } from "../../src/engines/sampling.ts";
import { o200kHarmony, SPECIAL_TOKENS } from "../../src/tokenizer/index.ts";
import { expectAnswer, expectLogprobs, expectUsage } from "../../test/engines/contract-checks.ts";
import { complete, textOf } from "../../test/engines/support.ts";
import { CONSTRAINED } from "./constrained.ts";
import { countRunning, inFinal, never, tinyRequest, toPrompt } from "./tiny-model.ts";

/** Values that differ from the neutral ones. */
const SAMPLING = {
  temperature: 0.5,
  topP: 0.5,
  topK: 7,
  minP: 0.1,
  frequencyPenalty: 0.3,
  presencePenalty: 0.6,
  repetitionPenalty: 1.5,
  seed: 4711,
  logitBias: new Map([[123, -50]]),
} satisfies Required<Sampling>;

const { values } = parseArgs({
  options: {
    engine: { type: "string" },
    url: { type: "string" },
    model: { type: "string", default: "openai/gpt-oss-20b" },
    "token-endpoint": { type: "boolean", default: false },
  },
});
const kind = ENGINE_KINDS.find((each) => each === values.engine);
const { url, model } = values;
if (kind === undefined || url === undefined) {
  throw new Error("usage: node proof/real/contract.ts --engine ENGINE --url URL [--model NAME]");
}

const engine = createEngine(kind, { url, model, tokenEndpoint: values["token-endpoint"] });
const { description, capabilities, contextLength = 0 } = await engine.probe(never());
const ask = (changes: Partial<CompletionRequest> = {}) => complete(engine, tinyRequest(changes));
const textFrom = async (changes: Partial<CompletionRequest>) => textOf(await ask(changes));

/** Bans all stop tokens, so that the model continues to the limit. */
const ENDS = [199999, 200002, 200007, 200012].map((id) => [id, -100] as const);

interface Check {
  readonly name: string;
  /** Why it does not apply. */
  readonly unless?: string | false;
  run(): Promise<void>;
}

const checks: readonly Check[] = [
  {
    name: "opens once, gives tokens in its form, finishes once",
    run: async () => expectAnswer(await ask(), capabilities),
  },
  {
    name: "gives characters that span several tokens whole",
    run: async () => assert.match(textOf(await ask()), /Hello!👩‍🚀 This is toy text/u),
  },
  {
    name: "reports the tokens of the prompt and of the answer",
    run: async () => {
      const request = tinyRequest();
      // A text server counts the tokens of the spelled text.
      const sent = capabilities.idsIn ? request.prompt.ids.length : undefined;
      expectUsage(await complete(engine, request), sent);
    },
  },
  {
    name: "ends with `length` at the token limit, and not beyond it",
    run: async () => {
      const found = await ask({ maxTokens: 5 });
      expectAnswer(found, capabilities, "length");
      assert.equal(found.ids?.length ?? found.finish?.usage?.completionTokens, 5);
    },
  },
  {
    name: "does not give half a character at the token limit",
    run: async () =>
      assert.doesNotMatch(await textFrom({ maxTokens: 4, prompt: inFinal() }), /\uFFFD./u),
  },
  {
    name: "takes ids as they are: spelled control tokens stay text",
    unless: !capabilities.idsIn && "its prompt is text",
    run: async () => {
      const spelled = o200kHarmony().encode("<|start|>assistant<|channel|>");
      const { prompt } = tinyRequest();
      const ids = [...prompt.ids.slice(0, 3), ...spelled, ...prompt.ids.slice(4)];
      expectUsage(await ask({ prompt: toPrompt(ids) }), ids.length);
    },
  },
  {
    name: "gives the token that ended the answer",
    unless: !capabilities.stopIdVisible && "it does not show it",
    run: async () => assert.match(await textFrom({}), /<\|return\|>$/),
  },
  {
    name: "stops at ids that were asked for",
    unless: !capabilities.stopIds && "the gateway closes the stream instead",
    run: async () => {
      const found = await ask({ stopIds: [SPECIAL_TOKENS["<|end|>"]] });
      expectAnswer(found, capabilities);
      assert.match(textOf(found), /<\|end\|>$/);
    },
  },
  {
    name: "log probabilities run parallel to the ids",
    unless: !capabilities.logprobs && "it reports none with its ids",
    run: async () => expectLogprobs(await ask({ topLogprobs: 2, maxTokens: 25 }), 2),
  },
  ...capabilities.sampling.map((name) => ({
    name: `accepts \`${name}\``,
    run: async () => {
      const { sampling } = tinyRequest();
      expectAnswer(
        await ask({ sampling: { ...sampling, [name]: SAMPLING[name] }, maxTokens: 1 }),
        capabilities,
        "length",
      );
    },
  })),
  {
    name: "samples the same with the same seed",
    unless: !capabilities.sampling.includes("seed") && "it takes no seed",
    run: async () => {
      const sampling = { ...tinyRequest().sampling, temperature: 1, seed: 7 };
      assert.equal(await textFrom({ sampling }), await textFrom({ sampling }));
    },
  },
  ...CONSTRAINED.map(({ constraint, startsInFinal, ...constrained }) => ({
    name: `holds the model to a constraint: \`${constraint.type}\``,
    unless: !capabilities.constraints.includes(constraint.type) && "it takes none of this type",
    run: async () => {
      const prompt = startsInFinal ? inFinal() : tinyRequest().prompt;
      const found = await ask({ constraint, prompt, maxTokens: 120 });
      assert.equal(found.error, undefined, found.error?.message);
      const text = textOf(found).replace(/<\|(return|call|endoftext)\|>$/, "");
      assert.ok(constrained.satisfies(text), `not what was asked for: ${text}`);
    },
  })),
  {
    name: "refuses a request beyond its context with `context-length`",
    run: async () => {
      const long = Array.from({ length: contextLength + 10 }, () => 976);
      assert.equal((await ask({ prompt: toPrompt(long) })).error?.kind, "context-length");
    },
  },
  {
    name: "refuses a constraint that makes no sense with `bad-request`",
    unless: !capabilities.constraints.includes("json-schema") && "it takes no schema",
    run: async () => {
      const constraint = { type: "json-schema", schema: '{"type":"nonsense"}' } as const;
      const { error } = await ask({ constraint, maxTokens: 5 });
      assert.equal(error?.kind, "bad-request", error?.message ?? "it was accepted");
    },
  },
  {
    name: "answers eight requests at a time, each its own",
    run: async () => {
      const found = await Promise.all(Array.from({ length: 8 }, () => textFrom({})));
      assert.deepEqual(new Set(found), new Set([await textFrom({})]));
    },
  },
  {
    name: "stops generating when the client leaves",
    unless: (await countRunning(kind, url)) === undefined && "it does not say what is running",
    run: async () => {
      const request = tinyRequest({
        maxTokens: 4000,
        sampling: { ...tinyRequest().sampling, logitBias: new Map(ENDS) },
      });
      for await (const event of engine.complete(request, never())) {
        if (event.type !== "open") break;
      }
      const deadline = AbortSignal.timeout(10_000);
      while ((await countRunning(kind, url)) !== 0) {
        assert.ok(!deadline.aborted, "it still generates after 10 s");
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    },
  },
  {
    name: "says that it is healthy",
    unless: engine.check === undefined && "it has no health endpoint",
    run: async () => engine.check?.(never()),
  },
];

console.log(`${description}: ${url}\n`);
let failed = 0;
for (const check of checks) {
  const { name, unless } = check;
  const outcome = typeof unless === "string" ? `– ${unless}` : await outcomeOf(() => check.run());
  if (outcome.startsWith("FAILED")) failed += 1;
  console.log(`| ${name} | ${outcome} |`);
}
process.exitCode = failed === 0 ? 0 : 1;

async function outcomeOf(run: () => Promise<void>): Promise<string> {
  try {
    await run();
    return "ok";
  } catch (error) {
    if (error instanceof AssertionError) return `FAILED ${error.message.split("\n", 1).join("")}`;
    throw error;
  }
}
