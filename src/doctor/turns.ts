/** The doctor's turns: a small corpus of typical requests. */
import { NEUTRAL_SAMPLING } from "../engines/sampling.ts";
import { fromPlainJson } from "../harmony/json.ts";
import { developerMessage, userMessage } from "../harmony/messages.ts";
import { compileSchema } from "../json-schema/index.ts";
import { TurnPrompt } from "../turn/prompt/prompt.ts";
import type { AnswerFormat, OfferedTool, Turn } from "../turn/turn.ts";
import { SYSTEM } from "./prompts.ts";

export interface TurnSketch {
  readonly question?: string;
  readonly tools?: readonly OfferedTool[];
  readonly required?: boolean;
  readonly answer?: AnswerFormat;
}

/** Maximum tokens of a turn, sufficient for low effort. */
const MAX_TOKENS = 512;

/** @param seed number that distinguishes turns of the same sketch. */
export function turnOf(sketch: TurnSketch, seed = 0): Turn {
  const { question = "Say hello.", tools = [], required = false } = sketch;
  const answer = sketch.answer ?? { type: "text" };
  const developer = developerMessage({
    functions: tools.map(({ name, parameters }) => ({
      name,
      description: `Use ${name} where it helps.`,
      ...(parameters !== undefined && { parameters }),
    })),
    ...(answer.type === "json-schema" && {
      responseFormat: { name: answer.name, schema: answer.schema },
    }),
  });
  return {
    id: "doctor",
    tenant: "",
    prompt: new TurnPrompt([SYSTEM, ...(developer ? [developer] : []), userMessage(question)]),
    tools,
    toolChoice: required
      ? { type: "required", names: tools.map(({ name }) => name) }
      : { type: "auto" },
    parallelToolCalls: true,
    answer,
    reasoning: { enabled: true },
    stop: [],
    maxOutputTokens: MAX_TOKENS,
    sampling: { ...NEUTRAL_SAMPLING, seed },
  };
}

const WEATHER = toolOf("get_weather", {
  type: "object",
  properties: { location: { type: "string" }, unit: { enum: ["celsius", "fahrenheit"] } },
  required: ["location"],
  additionalProperties: false,
});

const SEARCH = toolOf("search_files", {
  type: "object",
  properties: {
    pattern: { type: "string" },
    paths: { type: "array", items: { type: "string" }, maxItems: 4 },
  },
  required: ["pattern"],
  additionalProperties: false,
});

const CITY = {
  type: "object",
  properties: { city: { enum: ["Paris", "Oslo"] }, warm: { type: "boolean" } },
  required: ["city", "warm"],
  additionalProperties: false,
};

export const CORPUS: readonly TurnSketch[] = [
  { question: "In one sentence: why is the sky blue?" },
  { question: "What is the weather in Paris?", tools: [WEATHER, SEARCH] },
  { question: "Say hello in Hindi, Chinese and with an emoji.", tools: [WEATHER] },
  {
    question: "Which city is warmer in winter, Paris or Oslo?",
    answer: {
      type: "json-schema",
      name: "city",
      schema: fromPlainJson(CITY),
      checker: compileSchema(CITY),
    },
  },
  { question: "Find every call of fetch below src and test.", tools: [SEARCH], required: true },
  { question: "Write a function in Python that reverses a string. Code only." },
  { question: "Explain the tokens <|start|> and <|end|> of a chat format in two sentences." },
  { question: "List the first eight primes, one in a line." },
];

function toolOf(name: string, schema: Record<string, unknown>): OfferedTool {
  return {
    name,
    strict: false,
    parameters: fromPlainJson(schema),
    checker: compileSchema(schema),
  };
}
