/** Turns for tests, with neutral values for all options that a test does not set. */
import { assemble, type AssemblyDeps } from "../../src/gateway.ts";
import {
  createFetchTransport,
  type Engine,
  type Model,
  type ModelOptions,
  resolveSettings,
  type Settings,
} from "../../src/index.ts";
import { type Json, type Message, parseJson, toCompactJson } from "../../src/harmony/index.ts";
import { compileSchema } from "../../src/json-schema/index.ts";
import { TurnPrompt } from "../../src/turn/prompt/prompt.ts";
import type { GatewayTool } from "./fake-tool.ts";
import { NEUTRAL_SAMPLING } from "./spelled.ts";

export type Turn = Parameters<Model["run"]>[0];
export type OfferedTool = Turn["tools"][number];
export type TurnGatewayTools = NonNullable<Turn["gatewayTools"]>;
export type OnFact = NonNullable<Parameters<Model["run"]>[2]>;
export type TurnEvent = ReturnType<Model["run"]> extends AsyncIterable<infer Event> ? Event : never;
type AnswerFormat = Turn["answer"];
type GatewayCallResult = Extract<TurnEvent, { type: "builtin-result" }>;
type PartDelta = Extract<TurnEvent, { type: "part-delta" }>;
type Part = Extract<TurnEvent, { type: "part-start" }>["part"];
type TurnEnd = Extract<TurnEvent, { type: "end" }>;
type TokenLogprob = NonNullable<PartDelta["logprobs"]>[number];
type Citation = NonNullable<PartDelta["citations"]>[number];

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
  return {
    id: "turn-1",
    tenant: "anonymous",
    prompt: new TurnPrompt(
      messages ?? [
        systemMessage(),
        ...(tools.length > 0 ? [developerMessage(tools)] : []),
        { role: "user", content: "hi" },
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

function systemMessage(tools: readonly GatewayTool[] = []): Message {
  const namespaces = tools.flatMap(({ namespace }) => namespace ?? []);
  return {
    role: "system",
    content: [
      {
        type: "system",
        identity: "You are a test.",
        effort: "medium",
        channels: ["analysis", "commentary", "final"],
        channelsRequired: true,
        ...(namespaces.length > 0 && { namespaces }),
      },
    ],
  };
}

function developerMessage(tools: readonly OfferedTool[]): Message {
  const functions = tools.map((tool) => ({ ...tool, description: "" }));
  const namespaces = [{ key: "functions", name: "functions", functions }];
  return { role: "developer", content: [{ type: "developer", namespaces }] };
}

/** A turn with these tools, in the system message and in the loop. */
export function turnWithTools(
  tools: readonly GatewayTool[],
  gatewayTools: Partial<TurnGatewayTools> = {},
  fields: Partial<Turn> = {},
): Turn {
  return turnWith({
    messages: [systemMessage(tools), { role: "user", content: "hi" }],
    gatewayTools: { tools, maxCalls: 10, citations: "link", ...gatewayTools },
    ...fields,
  });
}

export interface RunOptions {
  readonly steering?: Partial<Settings>;
  readonly contextLength?: number;
  readonly signal?: AbortSignal;
  readonly pause?: NonNullable<AssemblyDeps["pause"]>;
  readonly onFact?: OnFact;
}

/** A model of the gateway, with the defaults of its settings. Call ids are `call_1`, `call_2`, … */
export function modelOf(
  engine: ModelOptions["engine"],
  { steering, contextLength, pause }: Omit<RunOptions, "signal" | "onFact"> = {},
): Model {
  let calls = 0;
  const options = { id: "openai/gpt-oss-20b", engine, layout: "reference" } as const;
  const { models } = assemble(
    { ...DEFAULTS, ...steering },
    {
      models: [contextLength === undefined ? options : { ...options, contextLength }],
      randomId: () => String(++calls),
      transport: createFetchTransport(),
      log: SILENT,
      ...(pause && { pause }),
    },
  );
  return models.all[0]!;
}

const DEFAULTS = resolveSettings([], { public: false });
const ignore = () => undefined;
const SILENT = { error: ignore, warn: ignore, info: ignore, debug: ignore };

/** A turn of a new model. */
export function startTurn(
  engine: Engine,
  turn: Turn,
  { signal = new AbortController().signal, onFact, ...options }: RunOptions = {},
): AsyncIterable<TurnEvent> {
  return modelOf(engine, options).run(turn, signal, onFact);
}

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
