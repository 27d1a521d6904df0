/**
 * The response object. Open Responses requires every key, including numbers, wherever the object appears: in a plain
 * answer, in events, and later from the store.
 */
import type { JsonText } from "../../json-text.ts";
import type { NamedEffort } from "../../models/model-name.ts";
import type { TurnUsage } from "../../turn/turn.ts";
import { hostedKindOf } from "../tools/hosted-tools.ts";
import { withoutCredentials } from "../tools/mcp-declaration.ts";
import type { CacheDiagnosis } from "../turn/cache-diagnosis.ts";
import type { GatewayItem } from "./gateway-item.ts";
import type { McpListItem } from "./mcp-items.ts";
import type {
  outputText,
  promptCacheDiagnostics,
  response,
  urlCitation,
  Written,
  WrittenItem,
} from "./reply-schema.ts";
import type { ResponsesRequest } from "./request.ts";
import type { Tool } from "./tool-schemas.ts";

export type OutputItem =
  | WrittenItem<
      "reasoning" | "function_call" | "custom_tool_call" | "tool_search_call" | "compaction"
    >
  | MessageItem
  | McpListItem
  | ToolSearchOutputItem
  | GatewayItem;

export type CompactionItem = WrittenItem<"compaction">;
export type ToolSearchOutputItem = WrittenItem<"tool_search_output">;
export type ItemStatus = MessageItem["status"];
export type UrlCitation = Written<typeof urlCitation>;

/** A message item whose log probabilities are JSON text, written when they arrive. */
export interface MessageItem extends Omit<WrittenItem<"message">, "content"> {
  readonly content: readonly OutputText[];
}

export interface OutputText extends Omit<Written<typeof outputText>, "logprobs"> {
  readonly logprobs: JsonText | readonly [];
}

/** The parts of a response that change while it is in flight. */
export interface ResponseState {
  readonly status: Written<typeof response>["status"];
  readonly output: readonly OutputItem[];
  /** With the status `incomplete`. */
  readonly incompleteReason?: "max_output_tokens" | "steered";
  /** Seconds since 1970. */
  readonly completedAt?: number | undefined;
  readonly usage?: TurnUsage;
  readonly error?: { readonly code: string; readonly message: string };
}

/** The parts of a response that are known from the start. */
export interface ResponseIdentity {
  /** `resp_…` */
  readonly id: string;
  /** Seconds since 1970. */
  readonly createdAt: number;
  /** `conv_…` */
  readonly conversation?: string;
  /** The model's name in the request. */
  readonly model: string;
  readonly effort: NamedEffort;
  /** Whether the model may make several calls. False with trained tools that the client runs. */
  readonly parallelToolCalls: boolean;
  /** Absent: the request asks for no diagnosis. */
  readonly diagnose?: () => CacheDiagnosis;
}

export type ResponseResource = ReturnType<ReturnType<typeof createResponseWriter>>;

/** Converts the request's part once. The returned function creates the whole object and shares nothing mutable. */
export function createResponseWriter(
  request: ResponsesRequest,
  identity: ResponseIdentity,
  isRun: (kind: string) => boolean = () => false,
) {
  const format = request.text?.format;
  const common = {
    id: identity.id,
    object: "response" as const,
    created_at: identity.createdAt,
  };
  const echo = {
    model: identity.model,
    previous_response_id: request.previous_response_id ?? null,
    instructions: request.instructions ?? null,
    tools: (request.tools ?? []).flatMap((tool) => toToolEcho(tool, isRun)),
    tool_choice: toChoiceEcho(request.tool_choice),
    truncation: request.truncation ?? "disabled",
    parallel_tool_calls: identity.parallelToolCalls,
    text: {
      format:
        format?.type === "json_schema"
          ? {
              type: format.type,
              name: format.name,
              // Open Responses requires the member, and OpenAI's types do not allow null.
              description: format.description ?? "",
              schema: format.schema,
              strict: format.strict ?? false,
            }
          : (format ?? { type: "text" as const }),
      // The model has no such control.
      ...(request.text?.verbosity && { verbosity: "medium" as const }),
    },
    top_p: request.top_p ?? 1,
    presence_penalty: request.presence_penalty ?? 0,
    frequency_penalty: request.frequency_penalty ?? 0,
    top_logprobs: request.top_logprobs ?? 0,
    temperature: request.temperature ?? 1,
    reasoning: {
      // The effective level: the model has only three.
      effort: identity.effort,
      summary: request.reasoning?.summary ?? request.reasoning?.generate_summary ?? null,
      // The effective value: the model was trained without the reasoning of finished turns.
      ...(request.reasoning?.context && { context: "current_turn" as const }),
    },
    max_output_tokens: request.max_output_tokens ?? null,
    max_tool_calls: request.max_tool_calls ?? null,
    store: request.store ?? true,
    background: request.background ?? false,
    service_tier: "default",
    metadata: request.metadata ?? {},
    safety_identifier: request.safety_identifier ?? null,
    prompt_cache_key: request.prompt_cache_key ?? null,
    // OpenAI's types require this member.
    access_programs: null,
    ...(request.user != null && { user: request.user }),
    ...(identity.conversation !== undefined && { conversation: { id: identity.conversation } }),
  };
  return (state: ResponseState) => ({
    ...common,
    completed_at: state.completedAt ?? null,
    status: state.status,
    incomplete_details:
      state.status === "incomplete"
        ? { reason: state.incompleteReason ?? ("max_output_tokens" as const) }
        : null,
    error: state.error ?? null,
    output: [...state.output],
    usage: state.usage === undefined ? null : toResponseUsage(state.usage),
    ...echo,
    ...(state.usage && identity.diagnose && toDiagnostics(identity.diagnose(), state.usage)),
  });
}

const CACHE_MISS_REASONS = {
  model: "model_changed",
  effort: "reasoning_effort_changed",
  tools: "tools_changed",
  format: "text_format_changed",
  summary: "context_compacted",
  system: "input_changed",
  instructions: "input_changed",
  messages: "input_changed",
} as const;

function toDiagnostics(diagnosis: CacheDiagnosis, { cachedTokens }: TurnUsage) {
  return { prompt_cache_diagnostics: toCacheResult(diagnosis, cachedTokens) };
}

function toCacheResult(
  diagnosis: CacheDiagnosis,
  cachedTokens: number,
): Written<typeof promptCacheDiagnostics> {
  switch (diagnosis.type) {
    case "continued":
      // An engine that has lost its cache, or reports nothing, gives no reason.
      return { type: cachedTokens > 0 ? "cache_hit" : "unavailable" };
    case "not-found":
      return { type: "comparison_response_not_found" };
    case "unavailable":
      return { type: "unavailable" };
    case "changed":
      return {
        type: "cache_miss",
        reason: CACHE_MISS_REASONS[diagnosis.what],
        cache_missed_tokens: diagnosis.missedTokens,
        comparison_reusable_tokens: diagnosis.earlierTokens,
      };
    default:
      return diagnosis satisfies never;
  }
}

export function toResponseUsage(usage: TurnUsage) {
  return {
    input_tokens: usage.promptTokens,
    // Typed clients require `cache_write_tokens`, which no engine reports.
    input_tokens_details: { cached_tokens: usage.cachedTokens, cache_write_tokens: 0 },
    output_tokens: usage.completionTokens,
    output_tokens_details: {
      reasoning_tokens: usage.reasoningTokens,
      ...(usage.gatewayTools && { tool_output_tokens: usage.gatewayTools.outputTokens }),
    },
    total_tokens: usage.promptTokens + usage.completionTokens,
  };
}

/** The tool in the reply. Empty for a tool that was left out. */
function toToolEcho(tool: Tool, isRun: (kind: string) => boolean): object[] {
  switch (tool.type) {
    case "function": {
      const { type, name, description, parameters, strict } = tool;
      return [
        {
          type,
          name,
          description: description ?? null,
          parameters: parameters ?? null,
          strict: strict ?? false,
        },
      ];
    }
    case "custom": {
      const { type, name, description, format } = tool;
      // OpenAI's types allow no null here.
      const described = description == null ? {} : { description };
      return [{ type, name, ...described, format: format ?? { type: "text" } }];
    }
    case "tool_search": {
      const { type, execution, description, parameters } = tool;
      const given = { description: description ?? null, parameters: parameters ?? null };
      return [{ type, execution, ...given }];
    }
    case "namespace": {
      const { type, name, description } = tool;
      const tools = tool.tools.flatMap((each) => toToolEcho(each, isRun));
      return [{ type, name, description: description ?? "", tools }];
    }
    case "hosted":
      if (!isRun(tool.kind)) return [];
      return [tool.kind === "mcp" ? withoutCredentials(tool.fields) : tool.fields];
    default:
      return tool satisfies never;
  }
}

function toChoiceEcho(choice: ResponsesRequest["tool_choice"]) {
  if (typeof choice !== "object" || choice === null) return choice ?? "auto";
  switch (choice.type) {
    case "function":
    case "custom":
      return choice;
    case "allowed_tools":
      if (choice.mode === "none") return "none";
      return {
        ...choice,
        tools: choice.tools.filter(({ type }) => ["function", "custom", "mcp"].includes(type)),
      };
    case "hosted":
      if (choice.kind === "mcp") return toMcpChoiceEcho(choice.fields);
      // Other values were refused earlier.
      return hostedKindOf(choice.kind) === undefined ? "auto" : { type: choice.kind };
    default:
      return choice satisfies never;
  }
}

function toMcpChoiceEcho({ type, server_label: label, name }: Readonly<Record<string, unknown>>) {
  return { type, server_label: label, ...(name != null && { name }) };
}
