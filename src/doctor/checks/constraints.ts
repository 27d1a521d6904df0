/** Checks that each constraint is enforced, with prompts for output that would violate it. */
import type { Constraint } from "../../engines/engine.ts";
import { EngineError } from "../../engines/engine-error.ts";
import { fromPlainJson } from "../../harmony/json.ts";
import { CHANNEL, CONSTRAIN, MESSAGE } from "../../harmony/tokens.ts";
import { compileSchema } from "../../json-schema/index.ts";
import { yieldToEventLoop } from "../../streams/timers.ts";
import { toSingleCallConstraint } from "../../turn/steering/single-call-constraint.ts";
import { TurnTools } from "../../turn/turn-tools.ts";
import { DEFAULT_STEERING } from "../../turn/steering/settings.ts";
import { body } from "../completion.ts";
import { adviceFor } from "../engine-advice.ts";
import type { Examination } from "../examination.ts";
import { type Check, type Finding, notApplicable, ok, printable, quoted } from "../finding.ts";
import { conversation, FINAL, type Part } from "../prompts.ts";
import { turnOf } from "../turns.ts";
import { parseJson } from "../../engines/untyped-json.ts";

type ConstraintType = Constraint["type"];

const QUESTION = "Write one sentence about the sea. Plain words only: no JSON, no code.";
const JSON_FINAL: readonly Part[] = [CHANNEL, "final ", CONSTRAIN, "json", MESSAGE];

/** Schema with short lists of values, so that the output is short for any model. */
const SCHEMA = {
  type: "object",
  properties: {
    plant: { enum: ["kelp", "coral"] },
    depth: { enum: [3, 5, 8] },
    calm: { type: "boolean" },
  },
  required: ["plant", "depth", "calm"],
  additionalProperties: false,
};

const CHECKER = compileSchema(SCHEMA);
const OPTIONS = ["kelp-417", "coral-952"];
const CODE = /^(?:kelp|coral)-[0-9]{3}$/;
const TOKENS = 96;
/** Maximum tokens of a free-form object, which is longer. */
const OBJECT_TOKENS = 256;
/** Maximum tokens of a turn, which begins with reasoning. */
const TURN_TOKENS = 768;

interface Sample {
  readonly constraint: Constraint;
  readonly opened: readonly Part[];
  readonly holds: (text: string) => boolean | Promise<boolean>;
}

const SAMPLES: Readonly<
  Record<Exclude<ConstraintType, "structural-tag" | "token-grammar">, Sample>
> = {
  "json-schema": {
    constraint: { type: "json-schema", schema: JSON.stringify(SCHEMA) },
    opened: JSON_FINAL,
    holds: (text) => satisfies(text),
  },
  "json-object": {
    constraint: { type: "json-object" },
    opened: JSON_FINAL,
    holds: (text) => text.trimStart().startsWith("{") && parseJson(text) !== undefined,
  },
  choice: {
    constraint: { type: "choice", options: OPTIONS },
    opened: FINAL,
    holds: (text) => OPTIONS.includes(text),
  },
  grammar: {
    constraint: {
      type: "grammar",
      grammar: 'root ::= ("kelp" | "coral") "-" [0-9] [0-9] [0-9]',
    },
    opened: FINAL,
    holds: (text) => CODE.test(text),
  },
  lark: {
    constraint: { type: "lark", grammar: "start: /(kelp|coral)-[0-9]{3}/" },
    opened: FINAL,
    holds: (text) => CODE.test(text),
  },
  regex: {
    constraint: { type: "regex", pattern: "(kelp|coral)-[0-9]{3}" },
    opened: FINAL,
    holds: (text) => CODE.test(text),
  },
};

const TITLES: Readonly<Record<ConstraintType, readonly [title: string, means: string]>> = {
  "json-schema": [
    "A JSON schema holds",
    "Answers with a schema are streamed under the engine's word, and then fail: clients get half of one and an error.",
  ],
  "json-object": [
    "Any JSON object holds",
    "Answers in JSON mode are streamed under the engine's word, and then fail.",
  ],
  choice: [
    "One of several strings holds",
    "Such an answer is checked afterwards and asked for again.",
  ],
  grammar: [
    "A grammar holds",
    "Codex' apply_patch can come damaged: nothing checks it afterwards.",
  ],
  lark: [
    "A grammar in Lark's notation holds",
    "Custom tools with a grammar get text of another form.",
  ],
  regex: ["A regular expression holds", "Custom tools with a pattern get text of another form."],
  "structural-tag": [
    "A structural tag holds for a whole turn",
    "singleCallConstraint saves nothing: a second call follows. Without that setting, nothing.",
  ],
  "token-grammar": [
    "A token grammar holds for a whole turn",
    "singleCallConstraint saves nothing: a second call follows. Without that setting, nothing.",
  ],
};

const ORDER = Object.keys(TITLES).filter(isType);

export const CONSTRAINT_CHECKS: readonly Check[] = ORDER.map((type) => {
  const [title, means] = TITLES[type];
  const isTurn = type === "structural-tag" || type === "token-grammar";
  return {
    id: type,
    title,
    means,
    asked: isTurn
      ? "A turn whose answer is JSON of a schema, in one call, to a question for plain words."
      : "An answer under the constraint, to a question for plain words.",
    run: (examination, signal) => run(type, examination, signal),
  };
});

function isType(name: string): name is ConstraintType {
  return Object.hasOwn(TITLES, name);
}

async function run(
  type: ConstraintType,
  examination: Examination,
  signal: AbortSignal,
): Promise<Finding> {
  const { engine } = examination;
  if (!engine.capabilities.constraints.includes(type)) {
    return notApplicable(
      "The gateway sends this kind no such constraint, and checks what it gets.",
    );
  }
  try {
    return type === "structural-tag" || type === "token-grammar"
      ? await runTurn(examination, signal)
      : await runSample(type, SAMPLES[type], examination, signal);
  } catch (error) {
    if (!(error instanceof EngineError) || error.kind !== "bad-request") throw error;
    return { verdict: grade(type), came: printable(error.message), change: toChange(examination) };
  }
}

async function runSample(
  type: ConstraintType,
  { constraint, opened, holds }: Sample,
  examination: Examination,
  signal: AbortSignal,
): Promise<Finding> {
  const maxTokens = type === "json-object" ? OBJECT_TOKENS : TOKENS;
  const completion = await examination.call(
    conversation(QUESTION, opened),
    { maxTokens, constraint },
    signal,
  );
  const text = body(completion);
  if (await holds(text)) return ok(`It wrote ${quoted(text)}.`);
  const isCut = completion.finish?.reason === "length" && /^[\s{[]/.test(text);
  return {
    verdict: isCut ? "degraded" : grade(type),
    came: isCut
      ? `It began and did not end within ${maxTokens} tokens: ${quoted(text)}.`
      : `It wrote ${quoted(text)}.`,
    ...(isCut && {
      means: "Such answers run into their limit, and are cut before they are whole.",
    }),
    change: toChange(examination, isCut && endsInWhiteSpace(text)),
  };
}

/** Whether the model writes endless white space, which JSON allows between any two tokens. */
function endsInWhiteSpace(text: string): boolean {
  return /\s{20}$/.test(text);
}

/** Runs a request in the gateway's form for `singleCallConstraint`. */
async function runTurn(examination: Examination, signal: AbortSignal): Promise<Finding> {
  const { engine } = examination;
  const turn = turnOf({
    question: QUESTION,
    answer: { type: "json-schema", name: "sea", schema: fromPlainJson(SCHEMA), checker: CHECKER },
  });
  const steering = { ...DEFAULT_STEERING, singleCallConstraint: true };
  const constraint = toSingleCallConstraint(turn, new TurnTools(turn), engine, steering);
  if (constraint === undefined) return notApplicable("This turn needs none.");
  const maxTokens = Math.min(TURN_TOKENS, Math.floor((examination.contextLength ?? Infinity) / 2));
  const completion = await examination.call(
    conversation(QUESTION),
    { maxTokens, constraint },
    signal,
  );
  const answer = /<\|channel\|>final <\|constrain\|>json<\|message\|>([\s\S]*)$/.exec(
    body(completion),
  )?.[1];
  if (answer !== undefined && (await satisfies(answer))) {
    return ok(`Reasoning, then ${quoted(answer)}, in one call.`);
  }
  const isCut = completion.finish?.reason === "length";
  return {
    verdict: "degraded",
    came: isCut
      ? `No answer within ${maxTokens} tokens: ${quoted(completion.text.slice(-60))}.`
      : `It ended with ${quoted(completion.text.slice(-60))}.`,
    change:
      isCut && constraint.type === "structural-tag" && endsInWhiteSpace(completion.text)
        ? "Update the server: xgrammar 0.2.4 or newer limits white space in structural tags."
        : toChange(examination),
  };
}

/** The verdict of a violation. `broken`: the gateway streams such output unchecked, so it reaches the client. */
function grade(type: ConstraintType): "broken" | "degraded" {
  return type === "json-schema" || type === "json-object" || type === "grammar"
    ? "broken"
    : "degraded";
}

/** @param hasLooped whether the model wrote endless white space. */
function toChange({ kind }: Examination, hasLooped = false): string {
  const { constraints, compactJson } = adviceFor(kind);
  return hasLooped && compactJson !== undefined
    ? `Forbid white space between JSON tokens: ${compactJson}.`
    : constraints;
}

async function satisfies(text: string): Promise<boolean> {
  const value = parseJson(text);
  return value !== undefined && (await CHECKER.check(value, { pause: yieldToEventLoop })).valid;
}

/** Strings that other models' templates and agents' prompts use as stop strings. */
const OTHERS_STOPS = "one </s> two <|im_end|> three ### four User: five Observation: six";

export const STOP_STRINGS: Check = {
  id: "stop-strings",
  title: "No stop strings of its own",
  asked: "An answer that the constraint makes spell stop strings of other models.",
  means:
    "Answers end in the middle when they mention such words; clients' own are matched by the gateway.",
  async run(examination, signal) {
    const { engine } = examination;
    if (!engine.capabilities.constraints.includes("json-schema")) {
      return notApplicable(
        "Without constraints no text can be forced; the gateway sends no stop strings.",
      );
    }
    const schema = {
      type: "object",
      properties: { text: { const: OTHERS_STOPS } },
      required: ["text"],
      additionalProperties: false,
    };
    const completion = await examination.call(
      conversation(QUESTION, JSON_FINAL),
      { maxTokens: TOKENS, constraint: { type: "json-schema", schema: JSON.stringify(schema) } },
      signal,
    );
    const text = body(completion);
    const expected = JSON.stringify(OTHERS_STOPS).slice(1, -1);
    if (text.includes(expected)) return ok("All came.");
    const found = commonEnd(text, expected);
    if (found === undefined)
      return notApplicable("It did not write the text that the schema demands.");
    return {
      verdict: "broken",
      came: `It stopped after ${quoted(found)}.`,
      change: "Remove the server's own stop strings (Modelfile, generation_config.json, flags).",
    };
  },
};

/** The rest of `text`, if it begins with the expected text. */
function commonEnd(text: string, expected: string): string | undefined {
  for (let length = Math.min(text.length, expected.length); length > 2; length--) {
    if (text.endsWith(expected.slice(0, length))) return expected.slice(0, length);
  }
  return undefined;
}
