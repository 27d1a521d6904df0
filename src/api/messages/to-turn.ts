/** Converts a valid request and its history to a Turn. */
import type { NamedEffort } from "../../models/model-name.ts";
import type { ToolChoice, Turn } from "../../turn/turn.ts";
import { refusal, type RequestError } from "../errors.ts";
import { NO_CLIENT_TRAINED_TOOLS } from "../tools/client-trained-tools.ts";
import { forcedHosted, type HostedDemand } from "../tools/hosted-choice.ts";
import { type HostedDeps, NO_HOSTED_TOOLS } from "../tools/hosted-tools.ts";
import type { MediaRules } from "../request/content-text.ts";
import { type RequestedChoice, toToolChoice } from "../request/offered-functions.ts";
import type { RequestText } from "../request/ordered-json.ts";
import {
  assembleConversation,
  assembleTurn,
  type RequestedTurn,
  type TurnContext,
} from "../turn/assemble-turn.ts";
import { type Item, render, toReasoningItem } from "../turn/history.ts";
import type { CollectedHistory } from "../turn/prompt-history.ts";
import { readFormat, type RequestedFormat } from "../turn/requested-format.ts";
import { readHistory, systemText } from "./history.ts";
import {
  answerFrom,
  type AssistantEntry,
  type AssistantPart,
  type HistoryEntry,
} from "./history-entry.ts";
import type { CountRequest, MessagesRequest } from "./request.ts";
import { requestedReasoning } from "./thinking.ts";
import { type OfferedTools, toOfferedFunctions } from "./tools.ts";

/** Inputs of a turn that are not in the request's fields. */
export interface MessagesTurnContext extends TurnContext, RequestText {
  /** The effort in the model's name. */
  readonly namedEffort?: NamedEffort | undefined;
  /** The history with its thinking restored. */
  readonly history: readonly HistoryEntry[];
  readonly offered: OfferedTools;
  /** The client's session id. */
  readonly affinity?: string | undefined;
}

/**
 * Each step takes a few dozen milliseconds for a request of megabytes, and almost none for others.
 *
 * @param request without `max_tokens` if its tokens are only counted.
 */
export function* toTurnInSteps(
  request: CountRequest & Partial<MessagesRequest>,
  context: MessagesTurnContext,
): Generator<void, Turn> {
  const turnOf = yield* assembleTurn(toRequestedTurn(request, context), context);
  const later = request.tool_choice?.type === "none" ? [] : context.offered.later;
  return turnOf((rules) =>
    render(toItems(context.history, later), { ...rules, hasPrefill: true, unknownCall }),
  );
}

/** Inputs of a conversation that is read by itself, without a store. */
interface ConversationContext extends Omit<MessagesTurnContext, "history" | "offered"> {
  readonly mediaRules: MediaRules;
  readonly hosted: HostedDeps;
}

/** The conversation alone, with the thinking that can be read. */
export function toConversation(
  request: CountRequest,
  context: ConversationContext,
): CollectedHistory {
  const { bodyText, mediaRules } = context;
  const read = readHistory(request.messages, { bodyText: () => bodyText, mediaRules });
  const options = { serverTools: "skip", maxTools: Number.POSITIVE_INFINITY } as const;
  const offered = toOfferedFunctions(request, {
    ...context,
    ...options,
    ...read,
    preset: undefined,
  });
  const history = read.entries.map((entry) =>
    entry.type === "assistant" ? { ...entry, parts: entry.parts.map(toReadable) } : entry,
  );
  const { prompt } = toRequestedTurn(request, { ...context, history, offered });
  return assembleConversation(prompt, context, (rules) =>
    render(toItems(history, offered.later), { ...rules, hasPrefill: true, unknownCall }),
  );
}

function toReadable(part: AssistantPart): AssistantPart {
  return part.type === "thinking" && part.text !== "" ? toReasoningItem(part.text) : part;
}

function toRequestedTurn(
  request: CountRequest & Partial<MessagesRequest>,
  context: MessagesTurnContext,
): RequestedTurn {
  const reasoning = requestedReasoning(request, context.namedEffort);
  const { offered } = context;
  const { functions, later, deferred, search, callable } = offered;
  const { max_tokens: maxTokens, tool_choice: choice } = request;
  const hosted = choice?.type === "none" ? NO_HOSTED_TOOLS : offered.hosted;
  const forced = forcedHosted(toDemand(request, offered), offered.hosted.tools);
  const added = later.filter((each) => each !== undefined);
  const requested = toToolChoice(
    forced === undefined ? requestedChoice(choice) : { type: "auto" },
    callable,
  );
  // A removed tool stays in the prompt, so that the prompt's prefix does not change.
  const isOpen = callable.length === functions.length + added.length + deferred.length;
  const toolChoice: ToolChoice =
    isOpen || requested.type !== "auto" ? requested : { type: "allowed", names: callable };
  const format = toFormat(request, context);
  // Compiled before the schemas of tools: this API reports its errors first.
  if (format.type === "json-schema") format.compile();
  const isSingle =
    choice != null && choice.type !== "none" && choice.disable_parallel_tool_use === true;
  return {
    prompt: {
      reasoning,
      functions,
      later: added,
      deferred,
      search,
      toolChoice,
      hosted,
      clientTrainedTools: NO_CLIENT_TRAINED_TOOLS,
      format,
      instructions: [systemText(request.system ?? ""), offered.notice],
    },
    forced,
    parallelToolCalls: !isSingle,
    stop: (request.stop_sequences ?? []).filter((each) => each !== ""),
    sampling: request,
    // With 0, the prompt is only cached. Engines require at least one token.
    maxOutputTokens: maxTokens === undefined ? undefined : Math.max(1, maxTokens),
    affinity: context.affinity,
  };
}

function requestedChoice(choice: CountRequest["tool_choice"]): RequestedChoice {
  switch (choice?.type) {
    case undefined:
    case "auto":
      return { type: "auto" };
    case "none":
      return { type: "none" };
    case "any":
      return { type: "required", param: "tool_choice" };
    case "tool":
      return { type: "named", tool: { name: choice.name, param: "tool_choice.name" } };
    default:
      return choice satisfies never;
  }
}

function toDemand(
  { tool_choice: choice }: CountRequest,
  { names, functions }: OfferedTools,
): HostedDemand {
  const name = choice?.type === "tool" ? choice.name : undefined;
  const kind = functions.some((each) => each.name === name) ? undefined : names.get(name ?? "");
  return {
    named: kind === undefined ? undefined : { kind, fields: {} },
    isRequired: choice?.type === "any" && functions.length === 0,
  };
}

// History

/** The parts of an assistant message one by one. A removed tool, or one that cannot be added, is left out. */
function* toItems(entries: readonly HistoryEntry[], later: OfferedTools["later"]): Generator<Item> {
  for (const entry of entries) {
    if (entry.type === "assistant") yield* assistantItems(entry);
    else if (entry.type === "tool")
      yield { type: "tools", functions: optional(later[entry.index]) };
    else yield entry;
  }
}

/** Without calls, the texts of an assistant message are one answer, after its thinking. */
function* assistantItems({ parts }: AssistantEntry): Generator<Item> {
  const hasCall = parts.some(({ type }) => type === "call");
  const begin = hasCall ? parts.length : answerFrom(parts);
  yield* parts.slice(0, begin).flatMap(toItem);
  const last = parts.slice(begin);
  yield* last.filter(({ type }) => type === "reasoning").flatMap(toItem);
  const texts = last.flatMap((part) => (part.type === "text" ? [part.text] : []));
  if (texts.length > 0) yield { type: "assistant", text: texts.join(""), isAnswer: true };
}

/** Before a call, texts are preambles. */
function toItem(part: AssistantPart): Item[] {
  switch (part.type) {
    case "text":
      if (part.text.trim() === "") return [];
      return [{ type: "assistant", text: part.text, isAnswer: false }];
    case "reasoning":
    case "call":
    case "kept-call":
    case "found":
      return [part];
    // The call was not restored: a result must not be invented.
    case "gateway-call":
      return part.shown === undefined ? [] : [part.shown];
    case "thinking":
      return [];
    default:
      return part satisfies never;
  }
}

function optional<T>(value: T | undefined): T[] {
  return value === undefined ? [] : [value];
}

function unknownCall(id: string, param: string): RequestError {
  return refusal(
    `${param}.tool_use_id`,
    `no tool_use block before this tool_result has the id ${JSON.stringify(id)}`,
  );
}

// Output format

function toFormat(request: CountRequest, text: RequestText): RequestedFormat {
  const { output_config: config, output_format: old } = request;
  const isOld = config?.format == null;
  const sent = config?.format ?? old;
  if (sent == null) return { type: "text" };
  const place = isOld
    ? { member: "output_format", value: old, path: ["schema"] }
    : { member: "output_config", value: config, path: ["format", "schema"] };
  return readFormat({ name: FORMAT_NAME, schema: sent.schema }, place, text);
}

/** The API's formats have no name, but the model requires one. */
const FORMAT_NAME = "response";
