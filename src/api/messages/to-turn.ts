/** Converts a valid request and its history to a Turn. */
import type { Message, ResponseFormat } from "../../harmony/conversation.ts";
import {
  analysisMessage,
  developerMessage,
  finalMessage,
  preambleMessage,
  type SystemOptions,
  systemMessage,
  toolCallMessage,
  userMessage,
} from "../../harmony/messages.ts";
import { createNameShield, NO_SHIELD } from "../../harmony/name-shield.ts";
import type { NamedEffort } from "../../models/model-name.ts";
import { settlePrefill } from "../../turn/prefill.ts";
import type { Preset } from "../../turn/preset.ts";
import type { AnswerFormat, Turn } from "../../turn/turn.ts";
import { compileEnforced } from "../request/enforced-schemas.ts";
import { RequestError } from "../errors.ts";
import {
  firstRecipients,
  type HostedDeps,
  hostedKindOf,
  NO_HOSTED_TOOLS,
  requiredRecipients,
  toTurnBuiltins,
} from "../tools/hosted-tools.ts";
import {
  type RequestedChoice,
  toOfferedTools,
  toToolChoice,
} from "../request/offered-functions.ts";
import { jsonAt, readOrdered } from "../request/ordered-json.ts";
import { PromptHistory } from "../request/prompt-history.ts";
import { joinTexts } from "../request/apply-preset.ts";
import { toSampling } from "../request/sampling.ts";
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
import { toTrainedTools, unwrittenCalls } from "../trained/trained-tools.ts";
import type { OfferedTools } from "./tools.ts";

/** Inputs that are not in the request's fields. */
export interface TurnContext {
  readonly turnId: string;
  readonly tenant: string;
  readonly system: Omit<SystemOptions, "effort">;
  /** The request as text: schemas are read from it, because `JSON.parse` loses key order and numbers. */
  readonly bodyText: string;
  /** The effort in the model's name. */
  readonly namedEffort?: NamedEffort | undefined;
  /** Its values are in the request already. */
  readonly preset?: Preset | undefined;
  /** With thinking restored. */
  readonly history: readonly HistoryEntry[];
  /** By the id of its call: the steps of the running loop, as they were sampled. */
  readonly sampled?: SampledSteps;
  readonly offered: OfferedTools;
  /** The setting `nameShield`. */
  readonly shieldsNames?: boolean;
  /** Tools that the gateway runs. */
  readonly hosted: HostedDeps;
  readonly trainedTools: Preset["trainedTools"];
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
  context: TurnContext,
): Generator<void, Turn> {
  const reasoning = requestedReasoning(request, context.namedEffort);
  const { offered } = context;
  const hosted = request.tool_choice?.type === "none" ? NO_HOSTED_TOOLS : offered.hosted;
  const forced = forcedHosted(request, offered);
  const requestedTools = toToolChoice(
    forced === undefined ? requestedChoice(request.tool_choice) : { type: "auto" },
    offered.functions.map(({ name }) => name),
  );
  const builtins = toTurnBuiltins(
    hosted,
    { forced, saved: toToolStates(context.history) },
    context.hosted,
  );
  const trained = toTrainedTools(context.trainedTools, offered.functions, requestedTools);
  const { functions, toolChoice } = trained;
  const format = toResponseFormat(request, context);
  const shield = context.shieldsNames ? createNameShield(trained.unmapped) : NO_SHIELD;
  const tools = yield* toOfferedTools(functions, toolChoice, { shield });
  const { messages, prefill } = toMessages(
    context.history,
    new PromptHistory(context.sampled, { shield, trained: trained.history }),
  );
  const { preset } = context;
  const system = systemText(request.system ?? "");
  const developer = developerMessage({
    instructions: joinTexts([preset?.instructions, system, offered.notice]),
    functions: functions.map((each) => shield.shown(each)),
    ...(format !== undefined && { responseFormat: format.shown }),
  });
  const { max_tokens: maxTokens, tool_choice: choice } = request;
  const isSingle =
    choice != null && choice.type !== "none" && choice.disable_parallel_tool_use === true;

  return settlePrefill({
    id: context.turnId,
    tenant: context.tenant,
    messages: [
      systemMessage({
        ...context.system,
        effort: reasoning.effort,
        namespaces: [...hosted.namespaces, ...trained.namespaces],
      }),
      ...(developer === undefined ? [] : [developer]),
      ...messages,
    ],
    tools: [...tools, ...trained.tools],
    ...(builtins && { builtins }),
    toolChoice,
    // The model makes one call of a tool of training, and waits.
    parallelToolCalls: !isSingle && trained.tools.length === 0,
    answer: format?.answer ?? { type: "text" },
    reasoning: {
      enabled: reasoning.enabled,
      ...(reasoning.maxTokens !== undefined && { maxTokens: reasoning.maxTokens }),
    },
    stop: (request.stop_sequences ?? []).filter((each) => each !== ""),
    sampling: toSampling(request),
    // 0 asks for the prompt to be cached only. Engines require at least one token.
    ...(maxTokens !== undefined && { maxOutputTokens: Math.max(1, maxTokens) }),
    ...(prefill !== undefined && { prefill }),
    ...(context.affinity !== undefined && { affinity: context.affinity }),
    ...(preset && { preset }),
    ...unwrittenCalls(trained),
  });
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

/**
 * The recipients of a tool of the gateway that must be called: it is named, or a call is required and there is no other
 * tool.
 */
function forcedHosted(
  { tool_choice: choice }: CountRequest,
  { hosted, names, functions }: OfferedTools,
): readonly string[] | undefined {
  if (functions.some(({ name }) => named(choice) === name)) return undefined;
  const kind = hostedKindOf(names.get(named(choice) ?? "") ?? "");
  const tool = hosted.tools.find(({ name }) => name === kind);
  if (tool !== undefined) return firstRecipients(tool);
  return choice?.type === "any" && functions.length === 0
    ? requiredRecipients(hosted.tools)
    : undefined;
}

function named(choice: CountRequest["tool_choice"]): string | undefined {
  return choice?.type === "tool" ? choice.name : undefined;
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

interface Conversation {
  readonly messages: readonly Message[];
  /** An assistant message at the end is the beginning of the answer. */
  readonly prefill: string | undefined;
}

function toMessages(entries: readonly HistoryEntry[], history: PromptHistory): Conversation {
  let prefill: string | undefined;
  for (const [index, entry] of entries.entries()) {
    switch (entry.type) {
      case "instructions": {
        const message = developerMessage({ instructions: entry.text });
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
  return { messages: history.collect().messages, prefill };
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

function toResponseFormat(
  request: CountRequest,
  { bodyText, tenant }: TurnContext,
): { readonly shown: ResponseFormat; readonly answer: AnswerFormat } | undefined {
  const isOld = request.output_config?.format == null;
  const member = isOld ? "output_format" : "output_config";
  const path = isOld ? ["schema"] : ["format", "schema"];
  if (isOld && request.output_format == null) return undefined;
  const schema = jsonAt(readOrdered(bodyText, member, request[member], tenant), path) ?? new Map();
  const { schema: plain } = request.output_config?.format ?? request.output_format ?? {};
  const checker = compileEnforced(schema, plain ?? {}, [member, ...path].join("."));
  return {
    shown: { name: FORMAT_NAME, schema },
    answer: { type: "json-schema", name: FORMAT_NAME, schema, checker },
  };
}

/** The API's formats have no name, but the model requires one. */
const FORMAT_NAME = "response";
