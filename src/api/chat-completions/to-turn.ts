/** Converts a valid chat request to a Turn: history to Harmony messages, fields to constraints. */
import type { Message, ResponseFormat } from "../../harmony/conversation.ts";
import {
  developerMessage,
  finalMessage,
  type SystemOptions,
  systemMessage,
} from "../../harmony/messages.ts";
import { createNameShield, type NameShield, NO_SHIELD } from "../../harmony/name-shield.ts";
import type { NamedEffort } from "../../models/model-name.ts";
import { settlePrefill } from "../../turn/prefill.ts";
import type { Preset } from "../../turn/preset.ts";
import type { ToolChoice, Turn } from "../../turn/turn.ts";
import { refusal, RequestError } from "../errors.ts";
import {
  type OfferedFunction,
  refuseDuplicates,
  toOfferedTools,
  toToolChoice,
} from "../request/offered-functions.ts";
import {
  type Declaration,
  firstRecipients,
  type HostedDeps,
  hostedKindOf,
  type HostedTools,
  isHosted,
  NO_HOSTED_TOOLS,
  readHostedTools,
  requiredRecipients,
  toTurnBuiltins,
  withServers,
} from "../tools/hosted-tools.ts";
import { withPresetTools } from "../tools/preset-tools.ts";
import { toShownTools } from "../../harmony/tool-names.ts";
import { forcedMcp } from "../tools/hosted-choice.ts";
import type { MediaRules } from "../request/media.ts";
import type { RequestText } from "../request/ordered-json.ts";
import { type CollectedHistory, withHead } from "../request/prompt-history.ts";
import { type ReasoningOptions, toReasoningOptions } from "../request/reasoning-options.ts";
import { joinTexts } from "../request/apply-preset.ts";
import { toSampling } from "../request/sampling.ts";
import { runAtOnce } from "../../streams/slices.ts";
import { toAnswerFormat, toResponseFormat } from "./answer-format.ts";
import { type ClientBuiltins, toClientBuiltins } from "../tools/client-builtins.ts";
import { toTrainedTools, type TrainedTools, unwrittenCalls } from "../trained/trained-tools.ts";
import type { SampledSteps } from "../../store/reasoning-store.ts";
import { type RestoredReasoning, toHistory, toToolStates } from "./history.ts";
import type { ChatServers } from "./mcp-tools.ts";
import { PART_SEPARATOR } from "./reply.ts";
import type { ChatRequest } from "./request.ts";
import { requestedChoice, toFunctions } from "./tools.ts";

/** Inputs of a prompt that are not in the request's fields. */
export interface PromptContext extends RequestText {
  readonly system: Omit<SystemOptions, "effort">;
  /** The effort in the model's name. */
  readonly namedEffort?: NamedEffort | undefined;
  /** Its values are in the request already. */
  readonly preset?: Preset | undefined;
  readonly restored: RestoredReasoning;
  /** By the id of its call: the steps of the running loop, as they were sampled. Absent: unknown. */
  readonly sampled?: SampledSteps;
  readonly media: MediaRules;
  /** The setting `nameShield`. */
  readonly shieldsNames?: boolean;
  /** Absent: the gateway runs no tools. */
  readonly hosted?: HostedDeps;
  /** MCP servers of the request. Absent: none. */
  readonly servers?: ChatServers;
  /** Absent: `off`. */
  readonly trainedTools?: Preset["trainedTools"];
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
  const offered = yield* toOfferedTools(functions, toolChoice, { shield: offer.shield });
  const trained = [...offer.trained.tools, ...offer.clientBuiltins.tools];
  const tools = [...offered, ...trained];
  if (format !== undefined) yield;
  const answer = toAnswerFormat(request, format);
  const { head, history, prefill } = readMessages(request, context, offer);
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
    messages: [...head, ...history.messages],
    tools,
    ...(builtins && { builtins }),
    toolChoice,
    // The model makes one call of a tool of training, and then waits for its result.
    parallelToolCalls: trained.length === 0 && (request.parallel_tool_calls ?? true),
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
    ...(context.preset && { preset: context.preset }),
    ...unwrittenCalls(offer.trained),
  });
}

/** The conversation alone: an answer at its end is a message like any other, and nothing is continued. */
export function toConversation(request: ChatRequest, context: PromptContext): CollectedHistory {
  const offer = runAtOnce(readOffer(request, context));
  const { head, history, prefill } = readMessages(request, context, offer);
  const end = prefill === undefined ? [] : [finalMessage(prefill)];
  return withHead(head, { ...history, messages: [...history.messages, ...end] });
}

interface Offer {
  readonly reasoning: ReasoningOptions;
  readonly functions: readonly OfferedFunction[];
  readonly toolChoice: ToolChoice;
  readonly format: ResponseFormat | undefined;
  readonly hosted: HostedTools;
  readonly clientBuiltins: ClientBuiltins;
  readonly trained: TrainedTools;
  /** The recipients of which the first call must have one: tools of the gateway. */
  readonly forced: readonly string[] | undefined;
  readonly shield: NameShield;
}

function* readOffer(request: ChatRequest, context: PromptContext): Generator<void, Offer> {
  const reasoning = chatReasoning(request, context.namedEffort);
  const offered = yield* toFunctions(request, context);
  const hosted = withServers(toHosted(request, context), context.servers?.tools ?? []);
  const forced = forcedHosted(request, hosted, offered.length);
  const requestedTools = toToolChoice(
    forced === undefined ? requestedChoice(request) : { type: "auto" },
    offered.map((each) => each.name),
  );
  refuseDuplicates([...offered, ...hosted.functions]);
  const clientBuiltins = toClientBuiltins({
    names: request.builtin_tools,
    isNone: request.tool_choice === "none",
    functions: offered.map((each) => each.name),
    hosted,
  });
  const trained = toTrainedTools(context.trainedTools, offered, requestedTools);
  const { functions, toolChoice } = trained;
  const format = toResponseFormat(request, context);
  const shield = context.shieldsNames ? createNameShield(trained.unmapped) : NO_SHIELD;
  return {
    reasoning,
    functions,
    toolChoice,
    format,
    hosted,
    clientBuiltins,
    trained,
    forced,
    shield,
  };
}

/** Reads declarations in `tools`, OpenAI's `web_search_options` and OpenRouter's web plugin. */
function toHosted(
  request: ChatRequest,
  { hosted: deps, preset }: Pick<PromptContext, "hosted" | "preset">,
): HostedTools {
  if (request.tool_choice === "none") return NO_HOSTED_TOOLS;
  const declared = (request.tools ?? []).flatMap((tool, index): Declaration[] => {
    if (tool.type !== "hosted") return [];
    const param = `tools[${index}]`;
    if (deps === undefined || !isHosted(tool.kind, deps)) {
      throw new RequestError(
        `${param}.type: this gateway does not run ${JSON.stringify(tool.kind)}. Its operator can enable it with the setting ${tool.kind === "mcp" ? "mcpServers" : "builtinTools"}.`,
        { param: `${param}.type` },
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

/** The tool is named, or a call is required and there is no other tool. */
function forcedHosted(
  { tool_choice: choice }: ChatRequest,
  { tools }: HostedTools,
  functions: number,
): readonly string[] | undefined {
  if (choice == null) return undefined;
  if (typeof choice === "object" && choice.type === "hosted") {
    if (choice.kind === "mcp") return forcedMcp(choice.fields, tools);
    const kind = hostedKindOf(choice.kind);
    const named = tools.find(({ name }) => name === kind);
    return named && firstRecipients(named);
  }
  return choice === "required" && functions === 0 ? requiredRecipients(tools) : undefined;
}

function readMessages(
  request: ChatRequest,
  context: PromptContext,
  { reasoning, functions, format, hosted, clientBuiltins, trained, shield }: Offer,
): {
  readonly head: readonly Message[];
  readonly history: CollectedHistory;
  readonly prefill: string | undefined;
} {
  const { leading, history, prefill } = toHistory(request.messages, {
    restored: context.restored,
    sampled: context.sampled,
    trained: clientBuiltins.namespaces,
    mapped: trained.history,
    media: context.media,
    shield,
  });
  const own = toShownTools(hosted.functions, context.servers?.style ?? "own");
  const developer = developerMessage({
    instructions: joinTexts([context.preset?.instructions, leading]),
    functions: [...functions.map((each) => shield.shown(each)), ...own.functions],
    namespaces: own.namespaces,
    ...(format !== undefined && { responseFormat: format }),
  });
  const head: readonly Message[] = [
    systemMessage({
      ...context.system,
      effort: reasoning.effort,
      namespaces: [...hosted.namespaces, ...clientBuiltins.namespaces, ...trained.namespaces],
    }),
    ...(developer === undefined ? [] : [developer]),
  ];
  return { head, history, prefill };
}

/** The effort that will be used, the budget, and whether reasoning is shown. */
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
    throw new RequestError(`modalities[${modality}]: the model supports text output only`, {
      param: `modalities[${modality}]`,
    });
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
