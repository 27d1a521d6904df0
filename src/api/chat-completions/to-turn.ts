/** Converts a valid chat request to a Turn: history to Harmony messages, fields to constraints. */
import type { NamedEffort } from "../../models/model-name.ts";
import { runAtOnce } from "../../streams/slices.ts";
import type { GatewayTool } from "../../tools/gateway-tool.ts";
import type { Turn } from "../../turn/turn.ts";
import { refusal, type RequestError } from "../errors.ts";
import type { MediaRules } from "../request/content-text.ts";
import { refuseDuplicates, toToolChoice } from "../request/offered-functions.ts";
import type { RequestText } from "../request/ordered-json.ts";
import type { CollectedHistory } from "../turn/prompt-history.ts";
import { type ReasoningOptions, toReasoningOptions } from "../request/reasoning-options.ts";
import { toClientTrainedTools } from "../tools/client-trained-tools.ts";
import { forcedHosted, type HostedDemand } from "../tools/hosted-choice.ts";
import {
  type Declaration,
  type HostedTools,
  isHosted,
  isRequiredType,
  NO_HOSTED_TOOLS,
  readHostedTools,
  withServers,
} from "../tools/hosted-tools.ts";
import { withPresetTools } from "../tools/preset-tools.ts";
import {
  assembleConversation,
  assembleTurn,
  type HistoryRules,
  type RequestedTurn,
  type TurnContext,
  type TurnHistory,
} from "../turn/assemble-turn.ts";
import { readFormat, type RequestedFormat } from "../turn/requested-format.ts";
import { render } from "../turn/history.ts";
import { type RestoredReasoning, toItems } from "./history.ts";
import { PART_SEPARATOR } from "./reply.ts";
import type { ChatRequest } from "./request.ts";
import { requestedChoice, toFunctions } from "./tools.ts";

/** Inputs of a turn that are not in the request's fields. */
export interface ChatTurnContext extends TurnContext, RequestText {
  /** The effort in the model's name. */
  readonly namedEffort?: NamedEffort | undefined;
  readonly restored: RestoredReasoning;
  readonly mediaRules: MediaRules;
  /** Tools of the request's MCP servers. Absent: none. */
  readonly servers?: readonly GatewayTool[] | undefined;
  /** The `x-session-id` header. */
  readonly sessionId?: string | undefined;
}

/** Each step takes a few dozen milliseconds for a request of megabytes, and almost none for others. */
export function* toTurnInSteps(
  request: ChatRequest,
  context: ChatTurnContext,
): Generator<void, Turn> {
  const turnOf = yield* assembleTurn(yield* toRequestedTurn(request, context), context);
  return turnOf((rules) => toHistory(request, rules, context));
}

/** Converts the request's conversation alone. */
export function toConversation(request: ChatRequest, context: ChatTurnContext): CollectedHistory {
  const prompt = runAtOnce(readPrompt(request, context)).prompt;
  return assembleConversation(prompt, context, (rules) => toHistory(request, rules, context));
}

function toHistory(
  { messages }: ChatRequest,
  rules: HistoryRules,
  { restored, mediaRules }: ChatTurnContext,
): TurnHistory {
  const items = toItems(messages, { restored, trained: rules.trained, mediaRules });
  return render(items, { ...rules, hasLead: true, hasPrefill: true, unknownCall });
}

function unknownCall(id: string, param: string): RequestError {
  return refusal(
    `${param}.tool_call_id`,
    `no assistant message before this one has a call with the id ${JSON.stringify(id)}`,
  );
}

function* toRequestedTurn(
  request: ChatRequest,
  context: ChatTurnContext,
): Generator<void, RequestedTurn> {
  refuseUnsupported(request);
  const { prompt, forced } = yield* readPrompt(request, context);
  return {
    prompt,
    forced,
    maxCalls: request.max_tool_calls,
    parallelToolCalls: request.parallel_tool_calls ?? true,
    stop: toStop(request.stop),
    textSeparator: PART_SEPARATOR,
    sampling: request,
    maxOutputTokens: request.max_completion_tokens ?? request.max_tokens,
    topLogprobs: request.logprobs ? (request.top_logprobs ?? 0) : undefined,
    affinity: request.prompt_cache_key ?? request.session_id ?? context.sessionId,
  };
}

function* readPrompt(
  request: ChatRequest,
  context: ChatTurnContext,
): Generator<void, Pick<RequestedTurn, "prompt" | "forced">> {
  const reasoning = chatReasoning(request, context.namedEffort);
  const { functions, deferred, search } = yield* toFunctions(request, context);
  const names = [...functions, ...deferred].map(({ name }) => name);
  const hosted = withServers(toHosted(request, context), context.servers ?? []);
  const forced = forcedHosted(toDemand(request, names.length), hosted.tools);
  const toolChoice = toToolChoice(
    forced === undefined ? requestedChoice(request) : { type: "auto" },
    names,
  );
  refuseDuplicates([...functions, ...hosted.functions]);
  const clientTrainedTools = toClientTrainedTools({
    names: request.builtin_tools,
    isNone: request.tool_choice === "none",
    functions: names,
    hosted,
  });
  const format = toFormat(request, context);
  return {
    prompt: {
      reasoning,
      functions,
      deferred,
      search,
      toolChoice,
      hosted,
      clientTrainedTools,
      format,
    },
    forced,
  };
}

/** Reads declarations in `tools`, OpenAI's `web_search_options` and OpenRouter's web plugin. */
function toHosted(
  request: ChatRequest,
  { hosted: deps, preset }: Pick<ChatTurnContext, "hosted" | "preset">,
): HostedTools {
  if (request.tool_choice === "none") return NO_HOSTED_TOOLS;
  const declared = (request.tools ?? []).flatMap((tool, index): Declaration[] => {
    if (tool.type !== "hosted") return [];
    const param = `tools[${index}]`;
    if (deps === undefined || !isHosted(tool.kind, deps)) {
      if (!isRequiredType(tool.kind)) return [];
      const setting = tool.kind === "mcp" ? "mcpServers" : "builtinTools";
      throw refusal(
        `${param}.type`,
        `this gateway does not run ${JSON.stringify(tool.kind)}. Its operator can enable it with the setting ${setting}.`,
      );
    }
    return [{ kind: tool.kind, fields: tool.fields, param }];
  });
  if (deps === undefined) return NO_HOSTED_TOOLS;
  const options = request.web_search_options;
  if (options) declared.push({ kind: "web_search", fields: options, param: "web_search_options" });
  const plugin =
    request.plugins?.findIndex(({ id, enabled }) => id === "web" && enabled !== false) ?? -1;
  if (plugin >= 0) {
    const fields = request.plugins?.[plugin];
    declared.push({ kind: "web_search", fields, param: `plugins[${plugin}]` });
  }
  const byClient = request.builtin_tools ?? [];
  return readHostedTools(withPresetTools(declared, preset, byClient), deps);
}

function toDemand({ tool_choice: choice }: ChatRequest, functions: number): HostedDemand {
  return {
    named: typeof choice === "object" && choice?.type === "hosted" ? choice : undefined,
    isRequired: choice === "required" && functions === 0,
  };
}

function toFormat({ response_format: format }: ChatRequest, text: RequestText): RequestedFormat {
  if (format?.type !== "json_schema") {
    return { type: format?.type === "json_object" ? "json-object" : "text" };
  }
  const path = ["json_schema", "schema"];
  return readFormat(format.json_schema, { member: "response_format", value: format, path }, text);
}

/** The effective effort, the budget, and whether reasoning is shown. */
export function chatReasoning(request: ChatRequest, named?: NamedEffort): ReasoningOptions {
  return toReasoningOptions(request.reasoning ?? {}, {
    effort: request.reasoning_effort,
    include: request.include_reasoning,
    named,
  });
}

function refuseUnsupported(request: ChatRequest): void {
  if (request.prompt !== undefined && request.prompt !== null) {
    throw refusal("prompt", "this route does not support text completion. Send messages instead");
  }
  const modality = (request.modalities ?? []).findIndex((each) => each !== "text");
  if (modality >= 0) {
    throw refusal(`modalities[${modality}]`, "the model supports text output only");
  }
  if (request.audio !== undefined && request.audio !== null) {
    throw refusal("audio", "the model supports text output only");
  }
  if (request.top_logprobs != null && request.logprobs !== true) {
    throw refusal("top_logprobs", "needs logprobs to be true");
  }
}

function toStop(stop: ChatRequest["stop"]): string[] {
  if (stop === undefined || stop === null) return [];
  return (typeof stop === "string" ? [stop] : stop).filter((each) => each !== "");
}
