/** Converts a valid request and its history to a Turn. */
import {
  analysisMessage,
  developerMessage,
  finalMessage,
  preambleMessage,
  toolCallMessage,
  userMessage,
} from "../../harmony/messages.ts";
import type { NamedEffort } from "../../models/model-name.ts";
import { type NamespacedFunction, toShownTools } from "../../harmony/tool-names.ts";
import type { ToolChoice, Turn } from "../../turn/turn.ts";
import { RequestError } from "../errors.ts";
import { NO_CLIENT_TRAINED_TOOLS } from "../tools/client-trained-tools.ts";
import { forcedHosted, type HostedDemand } from "../tools/hosted-choice.ts";
import { NO_HOSTED_TOOLS } from "../tools/hosted-tools.ts";
import { type RequestedChoice, toToolChoice } from "../request/offered-functions.ts";
import type { RequestText } from "../request/ordered-json.ts";
import { PromptHistory } from "../turn/prompt-history.ts";
import {
  assembleTurn,
  type RequestedTurn,
  type TurnContext,
  type TurnHistory,
} from "../turn/assemble-turn.ts";
import { readFormat, type RequestedFormat } from "../turn/requested-format.ts";
import { systemText } from "./history.ts";
import {
  answerFrom,
  type AssistantEntry,
  type AssistantPart,
  type HistoryEntry,
} from "./history-entry.ts";
import type { CountRequest, MessagesRequest } from "./request.ts";
import { requestedReasoning } from "./thinking.ts";
import type { SampledSteps } from "../../store/reasoning-store.ts";
import type { OfferedTools } from "./tools.ts";

/** Inputs that are not in the request's fields. */
export interface MessagesTurnContext extends TurnContext, RequestText {
  /** The effort in the model's name. */
  readonly namedEffort?: NamedEffort | undefined;
  /** With thinking restored. */
  readonly history: readonly HistoryEntry[];
  /** By the id of its call: the steps of the running loop, as they were sampled. */
  readonly sampled?: SampledSteps;
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
  const turnOf = yield* assembleTurn(readTurn(request, context), context);
  return turnOf(({ mapped, shield }) => ({
    ...toMessages(
      context.history,
      new PromptHistory(context.sampled, { shield, trained: mapped }),
      request.tool_choice?.type === "none"
        ? []
        : context.offered.later.map((each) => each && shield.shown(each)),
    ),
    toolStates: toToolStates(context.history),
  }));
}

function readTurn(
  request: CountRequest & Partial<MessagesRequest>,
  context: MessagesTurnContext,
): RequestedTurn {
  const reasoning = requestedReasoning(request, context.namedEffort);
  const { offered } = context;
  const { functions, later, callable } = offered;
  const { max_tokens: maxTokens, tool_choice: choice } = request;
  const hosted = choice?.type === "none" ? NO_HOSTED_TOOLS : offered.hosted;
  const forced = forcedHosted(toDemand(request, offered), offered.hosted.tools);
  const added = later.filter((each) => each !== undefined);
  const requested = toToolChoice(
    forced === undefined ? requestedChoice(choice) : { type: "auto" },
    callable,
  );
  // A removed tool stays in the prompt, whose prefix does not change.
  const isOpen = callable.length === functions.length + added.length;
  const toolChoice: ToolChoice =
    isOpen || requested.type !== "auto" ? requested : { type: "allowed", names: callable };
  const format = toFormat(request, context);
  // Before the schemas of tools: this API refuses it first.
  if (format.type === "json-schema") format.compile();
  const isSingle =
    choice != null && choice.type !== "none" && choice.disable_parallel_tool_use === true;
  return {
    prompt: {
      reasoning,
      functions,
      later: added,
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
    // 0 asks for the prompt to be cached only. Engines require at least one token.
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

/** By tool name: the state that the gateway's tools have saved in the running loop, the latest last. */
function toToolStates(entries: readonly HistoryEntry[]): ReadonlyMap<string, string> {
  const parts = entries.flatMap((entry) => (entry.type === "assistant" ? entry.parts : []));
  return new Map(
    parts.flatMap((part) => {
      const state = part.type === "builtin-call" ? part.call?.state : undefined;
      return state ? [[state.tool, state.saved] as const] : [];
    }),
  );
}

// History

/** An assistant message at the end is the beginning of the answer. */
function toMessages(
  entries: readonly HistoryEntry[],
  history: PromptHistory,
  later: readonly (NamespacedFunction | undefined)[],
): Pick<TurnHistory, "history" | "prefill"> {
  let prefill: string | undefined;
  for (const [index, entry] of entries.entries()) {
    switch (entry.type) {
      case "instructions": {
        const message = developerMessage({ instructions: entry.text });
        if (message !== undefined) history.add(message);
        break;
      }
      case "tool": {
        const added = later[entry.index];
        const message = added && developerMessage(toShownTools([added], "own"));
        if (message !== undefined) history.add(message);
        break;
      }
      case "user":
      case "summary":
        history.add(userMessage(entry.text));
        break;
      case "result":
        if (!history.addResult(entry.toolUseId, entry.text)) throw unknownCall(entry);
        break;
      case "assistant": {
        const { before, answer } = toAnswer(entry);
        if (index === entries.length - 1 && answer !== "") prefill = answer;
        addParts(history, before);
        if (answer !== "" && prefill === undefined) history.add(finalMessage(answer));
        break;
      }
      default:
        entry satisfies never;
    }
  }
  return { history: history.collect(), prefill };
}

/** Without calls, the texts of an assistant message are one answer. It is empty if there are none. */
function toAnswer({ parts }: AssistantEntry): {
  readonly before: readonly AssistantPart[];
  readonly answer: string;
} {
  if (parts.some(({ type }) => type === "call")) return { before: parts, answer: "" };
  const begin = answerFrom(parts);
  const last = parts.slice(begin);
  const texts = last.flatMap((part) => (part.type === "text" ? [part.text] : []));
  const analysis = last.filter(({ type }) => type === "thinking");
  return { before: [...parts.slice(0, begin), ...analysis], answer: texts.join("") };
}

/** Before a call, texts are preambles. */
function addParts(history: PromptHistory, parts: readonly AssistantPart[]): void {
  for (const part of parts) {
    switch (part.type) {
      case "thinking":
        history.add(analysisMessage(part.text));
        break;
      case "text":
        if (part.text.trim() !== "") history.add(preambleMessage(part.text));
        break;
      case "call":
        history.addCall(part.id, toolCallMessage(part.name, part.args));
        break;
      case "builtin-call":
        history.add(...(part.call?.messages ?? []));
        break;
      default:
        part satisfies never;
    }
  }
}

function unknownCall({
  toolUseId,
  param,
}: Extract<HistoryEntry, { type: "result" }>): RequestError {
  return new RequestError(
    `${param}.tool_use_id: no tool_use block before this tool_result has the id ${JSON.stringify(toolUseId)}`,
    { param: `${param}.tool_use_id` },
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
