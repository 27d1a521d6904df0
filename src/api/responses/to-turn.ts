/** Converts a valid request and its history to a Turn: items to Harmony messages, fields to constraints. */
import type { Message, ResponseFormat } from "../../harmony/conversation.ts";
import {
  analysisMessage,
  callMessage,
  developerMessage,
  functionRecipient,
  finalMessage,
  preambleMessage,
  resultMessage,
  type SystemOptions,
  systemMessage,
  userMessage,
} from "../../harmony/messages.ts";
import {
  type NamespaceStyle,
  qualifiedName,
  toolRecipient,
  toShownTools,
} from "../../harmony/tool-names.ts";
import type { AnswerFormat, ToolChoice, Turn } from "../../turn/turn.ts";
import { compileEnforced } from "../enforced-schemas.ts";
import { RequestError } from "../errors.ts";
import {
  type NamedTool,
  type OfferedFunction,
  type RequestedChoice,
  toOfferedTools,
  toToolChoice,
  turnName,
} from "../offered-functions.ts";
import {
  forcedRecipient,
  type HostedDeps,
  hostedKindOf,
  type HostedTools,
  NO_HOSTED_TOOLS,
  toTurnBuiltins,
} from "../hosted-tools.ts";
import { jsonAt, readOrdered } from "../ordered-json.ts";
import { type ReasoningOptions, toReasoningOptions } from "../reasoning-options.ts";
import { toSampling } from "../sampling.ts";
import type { HistoryItem } from "./history-item.ts";
import type { Content } from "./items.ts";
import type { PromptRequest, ResponsesRequest } from "./request.ts";
import type { Tool } from "./tool-schemas.ts";
import { type CallTargets, readTools, type RequestTools, type ToolList } from "./tools.ts";

/** Settings for what gpt-oss does not support. */
export interface Unsupported {
  /** Tools and items of hosted kinds: left out, or answered with 400. */
  readonly kinds: "skip" | "refuse";
  /** Images and files: replaced by a note, or answered with 400. */
  readonly media: "placeholder" | "refuse";
}

/** Inputs of a prompt that are not in the request's fields. */
export interface PromptContext {
  readonly tenant: string;
  readonly system: Omit<SystemOptions, "effort">;
  /** The request as text: schemas are read from it, because `JSON.parse` loses key order and numbers. */
  readonly bodyText: string;
  readonly unsupported: Unsupported;
  readonly tools: ToolSettings;
}

/** Settings for tools. */
export interface ToolSettings {
  readonly style: NamespaceStyle;
  readonly hosted: HostedDeps;
  /** Most tools of a request, those of namespaces included. */
  readonly max: number;
}

/** What is made of a request before its history is known. */
export interface TurnMaker {
  readonly turnOf: (history: readonly HistoryItem[]) => Turn;
  /** What the calls of each tool are on the wire. */
  readonly targets: CallTargets;
  /** Tools that were left out. */
  readonly skipped: readonly string[];
}

/** The tools that an item of the history adds. */
type LaterTools = ReadonlyMap<HistoryItem, readonly OfferedFunction[]>;

export interface TurnContext extends PromptContext {
  /** The whole history, of which a part may be left out of the prompt. The tools it adds are offered all the same. */
  readonly history: readonly HistoryItem[];
  readonly turnId: string;
  /** What the tools that the gateway runs have saved in the response this one continues. */
  readonly toolStates?: ReadonlyMap<string, string>;
}

/**
 * Reads a request up to its history, so that what does not depend on the history is computed once. Each step takes a few dozen milliseconds for a request of megabytes, and almost none for others.
 */
export function* turnMaker(
  request: ResponsesRequest,
  context: TurnContext,
): Generator<void, TurnMaker> {
  const frame = yield* readFrame(request, context);
  const { offered, toolChoice, format, targets, skipped } = frame;
  const tools = yield* toOfferedTools(offered, toolChoice, context.tools.style);
  if (format !== undefined) yield;
  const answer = toAnswerFormat(request, format);
  const builtins = toTurnBuiltins(
    frame.hosted,
    { maxCalls: request.max_tool_calls, forced: frame.forced, saved: context.toolStates },
    context.tools.hosted,
  );
  const turnOf = (history: readonly HistoryItem[]): Turn => ({
    id: context.turnId,
    tenant: context.tenant,
    messages: withHistory(history, frame, request, context),
    tools,
    ...(builtins && { builtins }),
    toolChoice,
    parallelToolCalls: request.parallel_tool_calls ?? true,
    answer,
    reasoning: { enabled: frame.reasoning.enabled },
    stop: [],
    sampling: toSampling(request),
    ...(request.max_output_tokens != null && { maxOutputTokens: request.max_output_tokens }),
    ...(request.include?.includes("message.output_text.logprobs") && {
      topLogprobs: request.top_logprobs ?? 0,
    }),
    ...(request.prompt_cache_key != null && { affinity: request.prompt_cache_key }),
  });
  return { turnOf, targets, skipped };
}

/** The parts of a turn that do not depend on the history. */
interface Frame extends Pick<RequestTools, "targets" | "skipped" | "hosted"> {
  /** The first call must be to this tool of the gateway's. */
  readonly forced: string | undefined;
  /** All tools. */
  readonly offered: readonly OfferedFunction[];
  /** What the items of the history add, by item. */
  readonly later: LaterTools;
  /** Tools that are offered before the history. */
  readonly functions: readonly OfferedFunction[];
  readonly toolChoice: ToolChoice;
  readonly format: ResponseFormat | undefined;
  readonly reasoning: ReasoningOptions;
}

function* readFrame(request: PromptRequest, context: TurnContext): Generator<void, Frame> {
  const reasoning = requestedReasoning(request);
  const lists = context.history.flatMap((item) => (item.type === "tools" ? [item] : []));
  const { targets, skipped, hosted: declared, ...tools } = yield* toTools(request, lists, context);
  const { offered } = tools;
  const hosted = allowedHosted(declared, request);
  const forced = forcedHosted(request, hosted, offered.length);
  const toolChoice = toToolChoice(
    forced === undefined ? requestedChoice(request, context.unsupported, hosted) : { type: "auto" },
    offered.map((each) => turnName(each)),
  );
  const isNone = toolChoice.type === "none";
  const added = new Set(tools.later.flat());
  const format = toResponseFormat(request, context);
  return {
    offered: isNone ? [] : offered,
    functions: isNone ? [] : offered.filter((each) => !added.has(each)),
    later: new Map(isNone ? [] : lists.map((list, index) => [list, tools.later[index] ?? []])),
    toolChoice,
    format,
    reasoning,
    targets,
    skipped,
    hosted,
    forced,
  };
}

/** Those the request's `tool_choice` leaves. */
function allowedHosted(hosted: HostedTools, { tool_choice: choice }: PromptRequest): HostedTools {
  if (choice === "none") return NO_HOSTED_TOOLS;
  if (typeof choice !== "object" || choice?.type !== "allowed_tools") return hosted;
  if (choice.mode === "none") return NO_HOSTED_TOOLS;
  const kinds = new Set(choice.tools.map(({ type }) => hostedKindOf(type)));
  const tools = hosted.tools.filter(({ name }) => [...kinds].some((kind) => kind === name));
  return { ...hosted, tools, namespaces: tools.flatMap(({ namespace }) => namespace ?? []) };
}

/** A tool of the gateway's that must be called: named, or because a call is required and there is no other tool. */
function forcedHosted(
  { tool_choice: choice }: PromptRequest,
  { tools }: HostedTools,
  functions: number,
): string | undefined {
  if (typeof choice === "object" && choice?.type === "unsupported") {
    const kind = hostedKindOf(choice.kind);
    return tools.some(({ name }) => name === kind) ? forcedRecipient(choice.kind) : undefined;
  }
  const isAllowed = typeof choice === "object" && choice?.type === "allowed_tools";
  const isRequired = choice === "required" || (isAllowed && choice.mode === "required");
  const hasFunctions = isAllowed
    ? choice.tools.some(({ type }) => type === "function")
    : functions > 0;
  const [first] = tools;
  if (!isRequired || hasFunctions || first === undefined) return undefined;
  return first.name === "browser" ? "browser.search" : first.name;
}

function withHistory(
  items: readonly HistoryItem[],
  { functions, later, format, reasoning, hosted }: Frame,
  request: PromptRequest,
  context: PromptContext,
): readonly Message[] {
  const { leading, tools, history } = toHistory(items, context, later);
  const instructions = [request.instructions ?? "", ...leading].filter((text) => text !== "");
  const developer = developerMessage({
    instructions: instructions.join("\n\n"),
    ...toShownTools([...functions, ...tools], context.tools.style),
    ...(format !== undefined && { responseFormat: format }),
  });
  return [
    systemMessage({
      ...context.system,
      effort: reasoning.effort,
      namespaces: hosted.namespaces,
    }),
    ...(developer === undefined ? [] : [developer]),
    ...history,
  ];
}

/** The effort to use, and whether the model reasons at all. */
export function requestedReasoning(request: PromptRequest): ReasoningOptions {
  return toReasoningOptions({ effort: request.reasoning?.effort }, {});
}

// History

export interface History {
  /** Tools that are added before anything else. */
  readonly tools: readonly OfferedFunction[];
  /** System and developer texts before anything else. */
  readonly leading: readonly string[];
  readonly history: readonly Message[];
}

/** Converts items to Harmony messages. An output needs its call among the items. */
export function toHistory(
  items: readonly HistoryItem[],
  { unsupported, tools: { style } }: Pick<PromptContext, "unsupported" | "tools">,
  later: LaterTools = new Map(),
): History {
  const tools: OfferedFunction[] = [];
  const leading: string[] = [];
  const history: Message[] = [];
  const recipients = new Map<string, string>();

  for (const item of items) {
    switch (item.type) {
      case "message": {
        const text = contentText(item.content, `${item.param}.content`, unsupported);
        if (item.role === "user") history.push(userMessage(text));
        else if (text === "") break;
        else if (history.length === 0) leading.push(text);
        else history.push(...optional(developerMessage({ instructions: text })));
        break;
      }
      case "assistant": {
        const text = contentText(item.content, `${item.param}.content`, unsupported);
        if (text !== "") history.push(item.isAnswer ? finalMessage(text) : preambleMessage(text));
        break;
      }
      case "reasoning":
        if (item.text !== "") history.push(analysisMessage(item.text));
        break;
      case "summary":
        history.push(userMessage(item.text));
        break;
      case "call": {
        const recipient = toolRecipient(item.namespace, item.name, style);
        recipients.set(item.callId, recipient);
        history.push(callMessage(recipient, item.body, item.form));
        break;
      }
      case "output": {
        const recipient = recipients.get(item.callId);
        if (recipient === undefined) throw unknownCall(item.callId, item.param);
        const output = contentText(item.content, `${item.param}.output`, unsupported);
        history.push(resultMessage(recipient, output));
        break;
      }
      case "tools": {
        const added = later.get(item) ?? [];
        if (item.callId !== undefined) {
          const recipient = recipients.get(item.callId);
          if (recipient === undefined) throw unknownCall(item.callId, item.param);
          history.push(resultMessage(recipient, toSearchResult(item.tools, style)));
        }
        if (history.length === 0) tools.push(...added);
        else history.push(...optional(developerMessage(toShownTools(added, style))));
        break;
      }
      case "kept-call":
        history.push(...item.messages);
        break;
      case "unsupported":
        if (unsupported.kinds === "refuse") {
          throw refusal(
            `${item.param}.type`,
            `${JSON.stringify(item.kind)} items are not supported`,
          );
        }
        break;
      default:
        item satisfies never;
    }
  }
  return { leading, tools, history };
}

/** What a search for tools has found. Their definitions follow in a developer message. */
function toSearchResult(tools: readonly Tool[], style: NamespaceStyle): string {
  const names = tools.flatMap((tool) => {
    switch (tool.type) {
      case "function":
      case "custom":
        return [functionRecipient(tool.name)];
      case "namespace":
        return tool.tools.flatMap((each) =>
          each.type === "unsupported" ? [] : [toolRecipient(tool.name, each.name, style)],
        );
      case "tool_search":
      case "unsupported":
        return [];
      default:
        return tool satisfies never;
    }
  });
  return names.length === 0 ? "No tools were found." : `Tools found: ${names.join(", ")}`;
}

const PLACEHOLDERS: Readonly<Record<string, string>> = {
  input_image: "[An image was attached here. It cannot be seen: this model reads only text.]",
  input_file: "[A file was attached here. It cannot be read: this model reads only text.]",
};

/** Joins text parts without a separator. The model supports no other kind. */
function contentText(content: Content, param: string, unsupported: Unsupported): string {
  if (typeof content === "string") return content;
  let text = "";
  for (const [index, part] of content.entries()) {
    const field = `${param}[${index}].type`;
    switch (part.type) {
      // Clients put any of these into messages of any role.
      case "input_text":
      case "output_text":
      case "text":
        text += part.text ?? "";
        break;
      case "refusal":
        text += part.refusal ?? "";
        break;
      default: {
        const placeholder = PLACEHOLDERS[part.type];
        if (placeholder === undefined || unsupported.media === "refuse") {
          throw refusal(
            field,
            `the model is text-only and cannot read ${JSON.stringify(part.type)} parts`,
          );
        }
        text += placeholder;
      }
    }
  }
  return text;
}

function unknownCall(callId: string, param: string): RequestError {
  return refusal(
    `${param}.call_id`,
    `no function call before this output has the call_id ${JSON.stringify(callId)}`,
  );
}

// Tools and formats

function* toTools(
  request: PromptRequest,
  later: readonly ToolList[],
  context: PromptContext,
): Generator<void, RequestTools> {
  const ordered = readOrdered(context.bodyText, "tools", request.tools, context.tenant);
  yield;
  return readTools(request.tools ?? [], {
    ordered,
    later,
    refuses: context.unsupported.kinds === "refuse",
    maxTools: context.tools.max,
    hosted: context.tools.hosted,
  });
}

function requestedChoice(
  request: PromptRequest,
  unsupported: Unsupported,
  hosted: HostedTools,
): RequestedChoice {
  const choice = request.tool_choice;
  if (choice === undefined || choice === null) return { type: "auto" };
  if (choice === "auto" || choice === "none") return { type: choice };
  if (choice === "required") return { type: "required", param: "tool_choice" };
  switch (choice.type) {
    case "function":
    case "custom":
      return {
        type: "named",
        tool: {
          name: qualifiedName(choice.namespace ?? undefined, choice.name),
          param: "tool_choice.name",
        },
      };
    case "allowed_tools": {
      const tools = choice.tools.flatMap((tool, index) =>
        CHOOSABLE.has(tool.type) ||
        (unsupported.kinds === "refuse" && !isOffered(tool.type, hosted))
          ? [toAllowedTool(tool, `tool_choice.tools[${index}]`)]
          : [],
      );
      if (choice.mode === "none") return { type: "none" };
      // Only tools that were left out are allowed, so no call is.
      if (tools.length === 0 && (choice.mode === "auto" || hosted.tools.length > 0)) {
        return { type: "none" };
      }
      if (tools.length === 0) {
        throw refusal(
          "tool_choice.tools",
          "a call is required but none of these tools is supported",
        );
      }
      return { type: "allowed", mode: choice.mode, tools };
    }
    case "unsupported":
      throw refusal("tool_choice.type", `${JSON.stringify(choice.kind)} tools are not supported`);
    default:
      return choice satisfies never;
  }
}

const CHOOSABLE: ReadonlySet<string> = new Set(["function", "custom"]);

function isOffered(type: string, { tools }: HostedTools): boolean {
  return tools.some(({ name }) => name === hostedKindOf(type));
}

interface AllowedTool {
  readonly type: string;
  readonly name?: string | null | undefined;
  readonly namespace?: string | null | undefined;
}

function toAllowedTool({ type, name, namespace }: AllowedTool, param: string): NamedTool {
  if (name != null) {
    return { name: qualifiedName(namespace ?? undefined, name), param: `${param}.name` };
  }
  if (CHOOSABLE.has(type)) {
    throw refusal(`${param}.name`, "must be the name of a tool, but it is missing");
  }
  throw refusal(`${param}.type`, `${JSON.stringify(type)} tools are not supported`);
}

function toResponseFormat(
  request: PromptRequest,
  { bodyText, tenant }: PromptContext,
): ResponseFormat | undefined {
  const format = request.text?.format;
  if (format?.type !== "json_schema") return undefined;
  const schema = jsonAt(readOrdered(bodyText, "text", request.text, tenant), ["format", "schema"]);
  return {
    name: format.name,
    schema: schema ?? new Map(),
    ...(format.description && { description: format.description }),
  };
}

function toAnswerFormat(request: PromptRequest, format: ResponseFormat | undefined): AnswerFormat {
  if (format !== undefined) {
    const { name, schema } = format;
    const requested = request.text?.format;
    const plain = requested?.type === "json_schema" ? requested.schema : undefined;
    const checker = compileEnforced(schema, plain ?? {}, "text.format.schema");
    return { type: "json-schema", name, schema, checker };
  }
  return { type: request.text?.format?.type === "json_object" ? "json-object" : "text" };
}

function refusal(param: string, problem: string): RequestError {
  return new RequestError(`${param}: ${problem}`, { param });
}

function optional<T>(value: T | undefined): T[] {
  return value === undefined ? [] : [value];
}
