/** Turns for tests, with neutral values for all options that a test does not set. */
import { type Engine, type Model, type ModelOptions, resolveSettings } from "../../src/index.ts";
import { NEUTRAL_SAMPLING } from "../../src/engines/sampling.ts";
import { type Json, type Message, parseJson, toCompactJson } from "../../src/harmony/index.ts";
import { developerMessage, systemMessage, userMessage } from "../../src/harmony/messages.ts";
import type { TokenLogprob } from "../../src/engines/engine.ts";
import { compileSchema } from "../../src/json-schema/index.ts";
import { createModels } from "../../src/models/models.ts";
import type { Citation } from "../../src/turn/output/citations.ts";
import type { OnFact } from "../../src/turn/facts.ts";
import { TurnPrompt } from "../../src/turn/prompt/prompt.ts";
import type { Pause } from "../../src/streams/slices.ts";
import type { Steering } from "../../src/turn/steering/settings.ts";
import type {
  AnswerFormat,
  GatewayCallResult,
  OfferedTool,
  Part,
  Turn,
  TurnEnd,
  TurnEvent,
} from "../../src/turn/turn.ts";

/** A tool by its name and its schema as JSON text. */
export function offeredTool(name: string, schema?: string, strict = false): OfferedTool {
  if (schema === undefined) return { name, strict };
  const checker = compileSchema(JSON.parse(schema));
  return { name, strict, parameters: parseJson(schema), checker };
}

/** An answer that must satisfy a schema. */
export function formedAnswer(
  name: string,
  schema: Json,
): Extract<AnswerFormat, { type: "json-schema" }> {
  const checker = compileSchema(JSON.parse(toCompactJson(schema)));
  return { type: "json-schema", name, schema, checker };
}

interface TurnFields extends Partial<Omit<Turn, "prompt">> {
  readonly messages?: readonly Message[];
}

export function turnWith({ messages, ...fields }: TurnFields = {}): Turn {
  const tools = fields.tools ?? [];
  const developer = developerMessage({
    functions: tools.map((tool) => ({ ...tool, description: "" })),
  });
  return {
    id: "turn-1",
    tenant: "anonymous",
    prompt: new TurnPrompt(
      messages ?? [
        systemMessage({ identity: "You are a test.", effort: "medium" }),
        ...(developer ? [developer] : []),
        userMessage("hi"),
      ],
    ),
    tools,
    toolChoice: { type: "auto" },
    parallelToolCalls: true,
    answer: { type: "text" },
    reasoning: { enabled: true },
    stop: [],
    sampling: NEUTRAL_SAMPLING,
    ...fields,
  };
}

export interface RunOptions {
  readonly steering?: Partial<Steering>;
  readonly contextLength?: number;
  readonly signal?: AbortSignal;
  readonly pause?: Pause;
  readonly onFact?: OnFact;
}

/** A model like the gateway's, with the defaults of its settings. Call ids are `call_1`, `call_2`, … */
export function modelOf(
  engine: ModelOptions["engine"],
  { steering, contextLength, pause }: Omit<RunOptions, "signal" | "onFact"> = {},
): Model {
  let calls = 0;
  const options = { id: "openai/gpt-oss-20b", engine, layout: "reference" } as const;
  const { all } = createModels(
    [contextLength === undefined ? options : { ...options, contextLength }],
    {
      steering: { ...DEFAULTS, ...steering },
      newCallId: () => `call_${++calls}`,
      ...(pause && { pause }),
    },
  );
  return all[0]!;
}

/** A turn of a new model. */
export function startTurn(
  engine: Engine,
  turn: Turn,
  { signal = new AbortController().signal, onFact, ...options }: RunOptions = {},
): AsyncIterable<TurnEvent> {
  return modelOf(engine, options).run(turn, signal, onFact);
}

const DEFAULTS: Steering = resolveSettings([], { public: false });

export function finishTurn(
  engine: Engine,
  turn: Turn,
  options: RunOptions = {},
): Promise<FinishedTurn> {
  return collect(startTurn(engine, turn, options));
}

export type FinishedPart = Part & {
  readonly text: string;
  readonly citations?: readonly Citation[];
  /** The result of a call that the gateway has run. */
  readonly result?: GatewayCallResult;
};

export interface FinishedTurn {
  readonly parts: readonly FinishedPart[];
  readonly end: TurnEnd;
}

/** The parts of a turn, each with its whole text, and the turn's end. */
export async function collect(events: AsyncIterable<TurnEvent>): Promise<FinishedTurn> {
  const parts: FinishedPart[] = [];
  let open: FinishedPart | undefined;
  let end: TurnEnd | undefined;
  for await (const event of events) {
    if (event.type === "part-start") open = { ...event.part, text: "" };
    else if (event.type === "part-delta" && open) {
      const citations = [...(open.citations ?? []), ...(event.citations ?? [])];
      open = { ...open, text: open.text + event.text, ...(citations.length > 0 && { citations }) };
    } else if (event.type === "part-end" && open) parts.push(open);
    else if (event.type === "builtin-result") parts.push({ ...parts.pop()!, result: event });
    else if (event.type === "end") end = event;
  }
  if (end === undefined) throw new Error("the turn has no end");
  return { parts, end };
}

/** The log probabilities of each part's kind. */
export async function logprobsByKind(
  engine: Engine,
  turn: Turn,
): Promise<ReadonlyMap<Part["kind"], readonly TokenLogprob[]>> {
  const found = new Map<Part["kind"], TokenLogprob[]>();
  let open: TokenLogprob[] = [];
  for await (const event of startTurn(engine, turn)) {
    if (event.type === "part-start") {
      open = found.get(event.part.kind) ?? [];
      found.set(event.part.kind, open);
    } else if (event.type === "part-delta") open.push(...(event.logprobs ?? []));
  }
  return found;
}

/** The parts as `[kind, text]`, calls as `[kind, text, name]`, for assertions. */
export function partsOf({ parts }: FinishedTurn): string[][] {
  return parts.map((part) =>
    part.kind === "tool-call" ? [part.kind, part.text, part.name] : [part.kind, part.text],
  );
}
