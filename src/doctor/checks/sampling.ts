/** Checks that sampling parameters have their documented effect. */
import { commonLength } from "../../common-length.ts";
import type { Completion } from "../completion.ts";
import type { CallOptions, Examination } from "../examination.ts";
import { type Check, type Finding, notApplicable, ok, quoted } from "../finding.ts";
import { conversation, FINAL } from "../prompts.ts";

/** A prompt whose answers differ from the first token on, unless sampling is made deterministic. */
const ANYTHING = conversation("Write a random number of 40 digits and nothing else.", FINAL);
const TOKENS = 16;

const OTHER_SAMPLER =
  "Find what overrides the request: flags of the server, a proxy, or extraBody in the settings.";

const GREEDY: Check = {
  id: "temperature",
  title: "Temperature 0 is greedy",
  asked: "The same prompt twice at temperature 0, with different seeds.",
  means: "Clients that ask for the same answer twice do not get it; tests against it are flaky.",
  async run(examination, signal) {
    if (!examination.engine.capabilities.sampling.includes("temperature")) {
      return notApplicable("This engine takes no temperature.");
    }
    return alike(
      examination,
      signal,
      [
        { temperature: 0, seed: 1 },
        { temperature: 0, seed: 2 },
      ],
      "Usual under load, where batches differ; some servers have a deterministic mode.",
    );
  },
};

const TOP_K: Check = {
  id: "top-k",
  title: "top_k 1 is greedy",
  asked: "The same prompt twice at temperature 1 and top_k 1, with different seeds.",
  means: "Clients' sampling parameters are ignored.",
  async run(examination, signal) {
    if (!examination.engine.capabilities.sampling.includes("topK")) {
      return notApplicable("This engine takes no top_k.");
    }
    return alike(
      examination,
      signal,
      [
        { temperature: 1, topK: 1, seed: 1 },
        { temperature: 1, topK: 1, seed: 2 },
      ],
      OTHER_SAMPLER,
    );
  },
};

const VARIES: Check = {
  id: "temperature-varies",
  title: "A high temperature varies",
  asked: "The same prompt four times at temperature 1.5, with different seeds.",
  means: "Asking again gives the same answer, and several choices are all alike.",
  async run(examination, signal) {
    if (!examination.engine.capabilities.sampling.includes("temperature")) {
      return notApplicable("This engine takes no temperature.");
    }
    const seeds = [11, 12, 13, 14];
    const all = await several(
      examination,
      signal,
      seeds.map((seed) => ({ temperature: 1.5, seed })),
    );
    const different = new Set(all.map(({ text }) => text)).size;
    const came = `${different} different answers of ${all.length}.`;
    return different > 1 ? ok(came) : { verdict: "degraded", came, change: OTHER_SAMPLER };
  },
};

const BIAS: Check = {
  id: "logit-bias",
  title: "A logit bias is obeyed",
  asked: "An unlikely token, at a bias of 100.",
  means: "The gateway cannot keep control tokens out of strings of a constrained answer.",
  async run(examination, signal) {
    if (!examination.engine.capabilities.sampling.includes("logitBias")) {
      return notApplicable("This engine takes no bias.");
    }
    return (await examination.obeysBias(signal))
      ? ok("The token came.")
      : { verdict: "degraded", came: "Another token came.", change: OTHER_SAMPLER };
  },
};

const MAX_TOKENS: Check = {
  id: "max-tokens",
  title: "The token limit is exact",
  asked: "Completions of 1 and of 7 tokens.",
  means:
    "Answers are longer or shorter than clients pay for, and budgets for reasoning are missed.",
  async run(examination, signal) {
    const prompt = conversation("Count from one to two hundred, in words.", FINAL);
    const came: string[] = [];
    let worst: "ok" | "degraded" | "broken" = "ok";
    for (const maxTokens of [1, 7]) {
      const completion = await examination.call(prompt, { maxTokens }, signal);
      const { finish, tokens, overran } = completion;
      came.push(`${tokens} for ${maxTokens}${finish?.reason === "stop" ? " (it ended)" : ""}`);
      if (overran || tokens > maxTokens) worst = "broken";
      else if (finish?.reason === "length" && tokens < maxTokens && worst === "ok") {
        // Text may lack part of a character, and usage may be missing.
        worst = completion.form === "ids" ? "degraded" : worst;
      }
    }
    const text = `${came.join(", ")}.`;
    if (worst === "ok") return ok(text);
    return { verdict: worst, came: text, change: OTHER_SAMPLER };
  },
};

const LOGPROBS: Check = {
  id: "logprobs",
  title: "Log probabilities are right",
  asked: "Four tokens at temperature 0, with two alternatives each.",
  means: "Clients that ask for log probabilities get wrong ones or an error.",
  async run(examination, signal) {
    if (!examination.engine.capabilities.logprobs) {
      return notApplicable("The gateway asks this kind for none; requests for them are refused.");
    }
    const completion = await examination.call(
      conversation("Say hello.", FINAL),
      { maxTokens: 4, topLogprobs: 2 },
      signal,
    );
    const problem = problemOf(completion);
    if (problem === undefined) {
      return ok(
        `${completion.logprobs.length} for ${completion.tokens} tokens, the likeliest first.`,
      );
    }
    return {
      verdict: "degraded",
      came: problem,
      change: "Start the server so that it returns log probabilities (vLLM: --max-logprobs 20).",
    };
  },
};

function problemOf({ ids, logprobs, form }: Completion): string | undefined {
  if (form !== "ids") return "They need ids, and text came.";
  if (logprobs.length !== ids.length) return `${logprobs.length} for ${ids.length} tokens.`;
  for (const [index, { id, logprob, top }] of logprobs.entries()) {
    if (id !== ids[index]) return `Number ${index + 1} is of another token.`;
    if (!(logprob <= 0.001)) return `A log probability of ${logprob}.`;
    const best = top.reduce((most, each) => Math.max(most, each.logprob), -Infinity);
    if (top.length > 0 && logprob < best - 0.01) {
      return "At temperature 0 another token was likelier than the sampled one.";
    }
    if (top.length < 2) return `${top.length} alternatives instead of 2.`;
  }
  return undefined;
}

/** @param late advice if the answers differ only in their second half. */
async function alike(
  examination: Examination,
  signal: AbortSignal,
  sampling: readonly NonNullable<CallOptions["sampling"]>[],
  late: string,
): Promise<Finding> {
  const [one = "", other = ""] = (await several(examination, signal, sampling)).map(
    ({ text }) => text,
  );
  if (one === other) return ok(`Both wrote ${quoted(one)}.`);
  // Batching changes the last bits of the logits, which matters for two tokens of similar probability.
  const isLate = commonLength(one, other) >= one.length / 2;
  return {
    verdict: isLate ? "degraded" : "broken",
    came: `${quoted(one, 40)} and then ${quoted(other, 40)}.`,
    change: isLate ? late : OTHER_SAMPLER,
  };
}

/** Runs completions sequentially, so that the doctor itself does not change the batches. */
async function several(
  examination: Examination,
  signal: AbortSignal,
  samplings: readonly NonNullable<CallOptions["sampling"]>[],
): Promise<Completion[]> {
  const completions: Completion[] = [];
  for (const sampling of samplings) {
    completions.push(await examination.call(ANYTHING, { maxTokens: TOKENS, sampling }, signal));
  }
  return completions;
}

export const SAMPLING_CHECKS: readonly Check[] = [
  GREEDY,
  TOP_K,
  VARIES,
  BIAS,
  MAX_TOKENS,
  LOGPROBS,
];
