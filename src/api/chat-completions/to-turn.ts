/** Converts a valid chat request to a Turn: history to Harmony messages, fields to constraints. */
import type { Message, ResponseFormat } from "../../harmony/conversation.ts";
import { fromPlainJson, type Json } from "../../harmony/json.ts";
import {
  analysisMessage,
  developerMessage,
  finalMessage,
  preambleMessage,
  type SystemOptions,
  systemMessage,
  toolCallMessage,
  toolResultMessage,
  userMessage,
} from "../../harmony/messages.ts";
import { settlePrefill } from "../../turn/prefill.ts";
import type { AnswerFormat, ToolChoice, Turn } from "../../turn/turn.ts";
import { compileEnforced } from "../enforced-schemas.ts";
import { RequestError } from "../errors.ts";
import {
  type NamedTool,
  type OfferedFunction,
  refuseDuplicates,
  type RequestedChoice,
  toOfferedFunction,
  toOfferedTools,
  toToolChoice,
} from "../offered-functions.ts";
import {
  type Declaration,
  forcedRecipient,
  type HostedDeps,
  hostedKindOf,
  type HostedTools,
  isHosted,
  NO_HOSTED_TOOLS,
  readHostedTools,
  toTurnBuiltins,
} from "../hosted-tools.ts";
import { jsonAt, readOrdered } from "../ordered-json.ts";
import { type ReasoningOptions, toReasoningOptions } from "../reasoning-options.ts";
import { runAtOnce } from "../stages.ts";
import type { CallReasoning, PlacedCall } from "../../store/reasoning-store.ts";
import { toSampling } from "../sampling.ts";
import { contentText } from "./content-text.ts";
import { sentReasoning } from "./reasoning-in.ts";
import { PART_SEPARATOR } from "./reply.ts";
import type { AssistantMessage, ChatMessage, ChatRequest } from "./request.ts";

/** What a request does not say about its prompt. */
export interface PromptContext {
  readonly tenant: string;
  readonly system: Omit<SystemOptions, "effort">;
  /** The request as text: schemas are read from it, because `JSON.parse` loses key order and numbers. */
  readonly bodyText: string;
  /**
   * Restored reasoning of the running tool loop: by message index, the reasoning around each of the message's calls. Other
   * messages keep the reasoning they contain.
   */
  readonly restored: ReadonlyMap<number, readonly CallReasoning[]>;
  /** Absent: the gateway runs no tools. */
  readonly hosted?: HostedDeps;
}

export interface TurnContext extends PromptContext {
  readonly turnId: string;
  /** The `x-session-id` header. */
  readonly sessionId?: string | undefined;
}

export function toTurn(request: ChatRequest, context: TurnContext): Turn {
  return runAtOnce(toTurnInSteps(request, context));
}

/** Each step takes a few dozen milliseconds for a request of megabytes, and almost none for others. */
export function* toTurnInSteps(request: ChatRequest, context: TurnContext): Generator<void, Turn> {
  refuseUnsupported(request);
  const offer = yield* readOffer(request, context);
  const { functions, toolChoice, format, reasoning } = offer;
  const tools = yield* toOfferedTools(functions, toolChoice);
  if (format !== undefined) yield;
  const answer = toAnswerFormat(request, format);
  const { messages, prefill } = readMessages(request, context, offer);
  const builtins =
    context.hosted &&
    toTurnBuiltins(
      offer.hosted,
      { forced: offer.forced, saved: toToolStates(context.restored) },
      context.hosted,
    );
  const affinity = request.prompt_cache_key ?? request.session_id ?? context.sessionId;
  const maxOutputTokens = request.max_completion_tokens ?? request.max_tokens;

  return settlePrefill({
    id: context.turnId,
    tenant: context.tenant,
    messages,
    tools,
    ...(builtins && { builtins }),
    toolChoice,
    parallelToolCalls: request.parallel_tool_calls ?? true,
    answer,
    reasoning: {
      enabled: reasoning.enabled,
      ...(reasoning.maxTokens !== undefined && { maxTokens: reasoning.maxTokens }),
    },
    stop: toStop(request.stop),
    textSeparator: PART_SEPARATOR,
    sampling: toSampling(request),
    ...(maxOutputTokens != null && { maxOutputTokens }),
    ...(request.logprobs && { topLogprobs: request.top_logprobs ?? 0 }),
    ...(prefill !== undefined && { prefill }),
    ...(affinity != null && { affinity }),
  });
}

/** The conversation alone: an answer at its end is a message like any other, and nothing is continued. */
export function toMessages(request: ChatRequest, context: PromptContext): readonly Message[] {
  const offer = runAtOnce(readOffer(request, context));
  const { messages, prefill } = readMessages(request, context, offer);
  return prefill === undefined ? messages : [...messages, finalMessage(prefill)];
}

interface Offer {
  readonly reasoning: ReasoningOptions;
  readonly functions: readonly OfferedFunction[];
  readonly toolChoice: ToolChoice;
  readonly format: ResponseFormat | undefined;
  readonly hosted: HostedTools;
  /** The first call must be to this tool of the gateway's. */
  readonly forced: string | undefined;
}

function* readOffer(request: ChatRequest, context: PromptContext): Generator<void, Offer> {
  const reasoning = chatReasoning(request);
  const offered = yield* toFunctions(request, context);
  const hosted = toHosted(request, context.hosted);
  const forced = forcedHosted(request, hosted, offered.length);
  const toolChoice = toToolChoice(
    forced === undefined ? requestedChoice(request) : { type: "auto" },
    offered.map((each) => each.name),
  );
  const functions = toolChoice.type === "none" ? [] : offered;
  const format = toResponseFormat(request, context);
  return { reasoning, functions, toolChoice, format, hosted, forced };
}

/** Declared as tools, by OpenAI's `web_search_options` or by OpenRouter's web plugin. */
function toHosted(request: ChatRequest, deps: HostedDeps | undefined): HostedTools {
  if (request.tool_choice === "none") return NO_HOSTED_TOOLS;
  const declared = (request.tools ?? []).flatMap((tool, index): Declaration[] => {
    if (tool.type !== "hosted") return [];
    const param = `tools[${index}]`;
    if (deps === undefined || !isHosted(tool.kind, deps)) {
      throw new RequestError(
        `${param}.type: this gateway does not run ${JSON.stringify(tool.kind)}. Its operator can enable it with the setting builtinTools.`,
        { param: `${param}.type` },
      );
    }
    return [{ kind: tool.kind, fields: tool.fields, param }];
  });
  if (deps === undefined) return NO_HOSTED_TOOLS;
  const options = request.web_search_options;
  if (options) declared.push({ kind: "web_search", fields: options, param: "web_search_options" });
  const plugin = request.plugins?.findIndex(({ id }) => id === "web") ?? -1;
  if (plugin >= 0) {
    const fields = request.plugins?.[plugin];
    declared.push({ kind: "web_search", fields, param: `plugins[${plugin}]` });
  }
  return readHostedTools(declared, deps);
}

/** Named, or because a call is required and there is no other tool. */
function forcedHosted(
  { tool_choice: choice }: ChatRequest,
  { tools }: HostedTools,
  functions: number,
): string | undefined {
  const [first] = tools;
  if (first === undefined || choice === null) return undefined;
  if (typeof choice === "object" && choice.type === "hosted") {
    const kind = hostedKindOf(choice.kind);
    return tools.some(({ name }) => name === kind) ? forcedRecipient(choice.kind) : undefined;
  }
  if (choice !== "required" || functions > 0) return undefined;
  return first.name === "browser" ? "browser.search" : first.name;
}

function readMessages(
  request: ChatRequest,
  context: PromptContext,
  { reasoning, functions, format, hosted }: Offer,
): { readonly messages: readonly Message[]; readonly prefill: string | undefined } {
  const { leading, history, prefill } = toHistory(request.messages, context.restored);
  const developer = developerMessage({
    instructions: leading,
    functions,
    ...(format !== undefined && { responseFormat: format }),
  });
  const messages: readonly Message[] = [
    systemMessage({
      ...context.system,
      effort: reasoning.effort,
      namespaces: hosted.namespaces,
    }),
    ...(developer === undefined ? [] : [developer]),
    ...history,
  ];
  return { messages, prefill };
}

/** The effort that will be used, the budget, and whether reasoning is shown. */
export function chatReasoning(request: ChatRequest): ReasoningOptions {
  return toReasoningOptions(request.reasoning ?? {}, {
    effort: request.reasoning_effort,
    include: request.include_reasoning,
  });
}

function refuseUnsupported(request: ChatRequest): void {
  if (request.prompt !== undefined && request.prompt !== null) {
    throw new RequestError(
      "prompt: this route does not support text completion. Send messages instead",
      {
        param: "prompt",
      },
    );
  }
  const modality = (request.modalities ?? []).findIndex((each) => each !== "text");
  if (modality >= 0) {
    throw new RequestError(`modalities[${modality}]: the model supports text output only`, {
      param: `modalities[${modality}]`,
    });
  }
  if (request.audio !== undefined && request.audio !== null) {
    throw new RequestError("audio: the model supports text output only", { param: "audio" });
  }
  if (request.top_logprobs != null && request.logprobs !== true) {
    throw new RequestError("top_logprobs: needs logprobs to be true", { param: "top_logprobs" });
  }
}

// History

interface History {
  /** The system and developer texts before anything else, joined by a blank line. */
  readonly leading: string;
  readonly history: readonly Message[];
  readonly prefill?: string;
}

function toHistory(messages: readonly ChatMessage[], restored: PromptContext["restored"]): History {
  const leading: string[] = [];
  const history: Message[] = [];
  const calls = new Map<string, string>();
  let prefill: string | undefined;
  let begun = false;

  for (const [index, message] of messages.entries()) {
    const param = `messages[${index}]`;
    switch (message.role) {
      case "system":
      case "developer": {
        const text = contentText(message.content, param);
        if (text === "") break;
        if (begun) history.push(...optional(developerMessage({ instructions: text })));
        else leading.push(text);
        break;
      }
      case "user":
        begun = true;
        history.push(userMessage(contentText(message.content, param), toAuthorName(message.name)));
        break;
      case "assistant": {
        begun = true;
        const last = index === messages.length - 1;
        const parts = assistantParts(message, param, restored.get(index));
        for (const call of parts.calls) calls.set(call.id, call.name);
        if (last && parts.calls.length === 0 && parts.text !== "") {
          prefill = parts.text;
          history.push(...toAnalysisMessages(parts.reasoning[0]?.before.flat()));
        } else {
          history.push(...toAssistantMessages(parts));
        }
        break;
      }
      case "tool":
        begun = true;
        history.push(
          toolResultMessage(
            resolveToolName(message.tool_call_id, message.name, calls, param),
            contentText(message.content, param),
          ),
        );
        break;
      case "function":
        begun = true;
        history.push(toolResultMessage(message.name, contentText(message.content, param)));
        break;
      default:
        message satisfies never;
    }
  }
  return { leading: leading.join("\n\n"), history, ...(prefill !== undefined && { prefill }) };
}

/**
 * A name that is valid in a header, `user:alice`: characters other than letters, digits, `_`, `-` and `.` become `_`,
 * because a space would end the name.
 */
function toAuthorName(name: string | null | undefined): string | undefined {
  const written = (name ?? "").trim().replace(/[^\p{L}\p{N}_.-]+/gu, "_");
  return written === "" ? undefined : Array.from(written).slice(0, MAX_NAME_LENGTH).join("");
}

/** As OpenAI has it. */
const MAX_NAME_LENGTH = 64;

interface AssistantParts {
  /** Around each call; without calls, before the text. */
  readonly reasoning: readonly CallReasoning[];
  readonly text: string;
  readonly calls: readonly { readonly id: string; readonly name: string; readonly args: string }[];
}

function assistantParts(
  message: AssistantMessage,
  param: string,
  restored: readonly CallReasoning[] | undefined,
): AssistantParts {
  const calls = (message.tool_calls ?? []).map((call, index) => {
    if (call.function) {
      return { id: call.id, name: call.function.name, args: call.function.arguments ?? "" };
    }
    if (call.custom) {
      const args = JSON.stringify({ [CUSTOM_INPUT]: call.custom.input ?? "" });
      return { id: call.id, name: call.custom.name, args };
    }
    const field = `${param}.tool_calls[${index}].function`;
    throw new RequestError(`${field}: is required`, { param: field });
  });
  if (message.function_call) {
    const { name, arguments: args } = message.function_call;
    calls.push({ id: "", name, args: args ?? "" });
  }
  return {
    reasoning: restored ?? [{ before: [optional(sentReasoning(message))], after: [] }],
    text: contentText(message.content, param) || (message.refusal ?? ""),
    calls,
  };
}

/** In the order the model wrote them. The client has joined all text for the user into one string. */
function toAssistantMessages({ reasoning, text, calls }: AssistantParts): Message[] {
  if (calls.length === 0) {
    return [
      ...toAnalysisMessages(reasoning.flatMap(({ before }) => before.flat())),
      ...(text === "" ? [] : [finalMessage(text)]),
    ];
  }
  // Continue sends " " and LangChain "" with calls: both mean no text.
  const preamble = text.trim() === "" ? [] : [preambleMessage(text)];
  return calls.flatMap(({ name, args }, index) => {
    const { before = [], after, tools = [] } = reasoning[index] ?? {};
    const beforeText = before.length > 1 ? before.slice(0, -1) : before;
    const beforeCall = before.slice(beforeText.length);
    return [
      ...beforeText.flatMap((texts, list) => withTools(texts, tools, list)),
      ...(index === 0 ? preamble : []),
      ...beforeCall.flatMap((texts, at) => withTools(texts, tools, beforeText.length + at)),
      toolCallMessage(name, args),
      ...toAnalysisMessages(after),
    ];
  });
}

/** Analysis messages, and between them the calls that the gateway ran, as the model saw them. */
function withTools(
  texts: readonly string[],
  tools: readonly PlacedCall[],
  list: number,
): readonly Message[] {
  const placed = tools.filter((tool) => tool.list === list);
  return [...texts, undefined].flatMap((text, index) => [
    ...placed.filter(({ at }) => at === index).flatMap(({ call }) => call.messages),
    ...(text === undefined ? [] : [analysisMessage(text)]),
  ]);
}

/** By tool name: what the tools that the gateway runs have saved in the running loop, the latest last. */
function toToolStates(restored: PromptContext["restored"]): ReadonlyMap<string, string> {
  const calls = [...restored]
    .toSorted(([a], [b]) => a - b)
    .flatMap(([, reasoning]) => reasoning.flatMap(({ tools = [] }) => tools));
  return new Map(
    calls.flatMap(({ call: { state } }) => (state ? [[state.tool, state.saved] as const] : [])),
  );
}

function toAnalysisMessages(texts: readonly string[] = []): Message[] {
  return texts.map((text) => analysisMessage(text));
}

/** By id, because results may come in any order. The name on the message is the fallback. */
function resolveToolName(
  id: string,
  name: string | null | undefined,
  calls: ReadonlyMap<string, string>,
  param: string,
): string {
  const resolved = calls.get(id) ?? name;
  if (resolved) return resolved;
  throw new RequestError(
    `${param}.tool_call_id: no assistant message before this one has a call with the id ${JSON.stringify(id)}`,
    { param: `${param}.tool_call_id` },
  );
}

// Tools and formats

/** The field that carries a custom tool's free text: the model sees a function with one string parameter. */
export const CUSTOM_INPUT = "input";

const PLAIN_CUSTOM_PARAMETERS = {
  type: "object",
  properties: { [CUSTOM_INPUT]: { type: "string" } },
  required: [CUSTOM_INPUT],
  additionalProperties: false,
};
const CUSTOM_PARAMETERS: Json = fromPlainJson(PLAIN_CUSTOM_PARAMETERS);

function* toFunctions(
  request: ChatRequest,
  { bodyText, tenant }: PromptContext,
): Generator<void, OfferedFunction[]> {
  const schemas = readOrdered(bodyText, "tools", request.tools, tenant);
  yield;
  const legacySchemas = readOrdered(bodyText, "functions", request.functions, tenant);
  const functions = [
    ...(request.tools ?? []).flatMap((tool, index) => {
      if (tool.type === "hosted") return [];
      if (tool.type === "function") {
        return toOfferedFunction(
          tool.function,
          jsonAt(schemas, [index, "function", "parameters"]),
          `tools[${index}].function.parameters`,
        );
      }
      const { name, description } = tool.custom;
      const parameters = PLAIN_CUSTOM_PARAMETERS;
      const definition = { name, description, strict: true, parameters };
      return toOfferedFunction(definition, CUSTOM_PARAMETERS, `tools[${index}].custom`);
    }),
    ...(request.functions ?? []).map((each, index) =>
      toOfferedFunction(
        each,
        jsonAt(legacySchemas, [index, "parameters"]),
        `functions[${index}].parameters`,
      ),
    ),
  ];
  refuseDuplicates(functions);
  return functions;
}

function requestedChoice(request: ChatRequest): RequestedChoice {
  const { param, choice } =
    request.tool_choice != null
      ? { param: "tool_choice", choice: request.tool_choice }
      : { param: "function_call", choice: request.function_call };
  if (choice === undefined || choice === null) return { type: "auto" };
  if (choice === "auto" || choice === "none") return { type: choice };
  if (choice === "required") return { type: "required", param };
  if ("kind" in choice) {
    throw new RequestError(
      `tool_choice.type: ${JSON.stringify(choice.kind)} is not among the tools of this request`,
      { param: "tool_choice.type" },
    );
  }
  if ("name" in choice) {
    return { type: "named", tool: { name: choice.name, param: `${param}.name` } };
  }
  if (choice.type !== "allowed_tools") return { type: "named", tool: toNamedTool(choice, param) };
  const mode = choice.allowed_tools.mode ?? "auto";
  if (mode === "none") return { type: "none" };
  return {
    type: "allowed",
    mode,
    tools: choice.allowed_tools.tools.map((tool, index) =>
      toNamedTool(tool, `${param}.allowed_tools.tools[${index}]`),
    ),
  };
}

function toNamedTool(
  tool:
    | { type: "function"; function: { name: string } }
    | { type: "custom"; custom: { name: string } },
  param: string,
): NamedTool {
  return tool.type === "function"
    ? { name: tool.function.name, param: `${param}.function.name` }
    : { name: tool.custom.name, param: `${param}.custom.name` };
}

function toResponseFormat(
  request: ChatRequest,
  { bodyText, tenant }: PromptContext,
): ResponseFormat | undefined {
  const format = request.response_format;
  if (format?.type !== "json_schema") return undefined;
  const { name, description, schema } = format.json_schema;
  return {
    name,
    schema:
      (schema &&
        jsonAt(readOrdered(bodyText, "response_format", format, tenant), [
          "json_schema",
          "schema",
        ])) ??
      new Map(),
    ...(description && { description }),
  };
}

function toAnswerFormat(request: ChatRequest, format: ResponseFormat | undefined): AnswerFormat {
  if (format !== undefined) {
    const { name, schema } = format;
    const requested = request.response_format;
    const plain = requested?.type === "json_schema" ? requested.json_schema.schema : undefined;
    const param = "response_format.json_schema.schema";
    return {
      type: "json-schema",
      name,
      schema,
      checker: compileEnforced(schema, plain ?? {}, param),
    };
  }
  return { type: request.response_format?.type === "json_object" ? "json-object" : "text" };
}

function toStop(stop: ChatRequest["stop"]): string[] {
  if (stop === undefined || stop === null) return [];
  return (typeof stop === "string" ? [stop] : stop).filter((each) => each !== "");
}

function optional<T>(value: T | undefined): T[] {
  return value === undefined ? [] : [value];
}
