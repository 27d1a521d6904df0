/** Converts finished turns to a `chat.completion`. */
import { asObject, parseJson } from "../../engines/untyped-json.ts";
import type { JsonText } from "../../json-text.ts";
import { collectTurn, type FinishedPart, type FinishedTurn } from "../../turn/collect.ts";
import type { TurnEvent } from "../../turn/turn.ts";
import { describeTurnFailure } from "../errors.ts";
import { type HeldReply, logprobText } from "../reply/held-reply.ts";
import { toErrorBody } from "./errors.ts";
import { toAnnotation, toExecutedTool } from "./executed-tools.ts";
import { CUSTOM_INPUT } from "./tools.ts";
import {
  addUsage,
  mapFinishReason,
  PART_SEPARATOR,
  type ReplyOptions,
  SYSTEM_FINGERPRINT,
  toNativeReason,
  toSealedDetail,
  toSummaryDetail,
  toUsage,
} from "./reply.ts";

/** A finished turn, and the log probabilities of its answer. */
interface FinishedChoice extends FinishedTurn {
  readonly logprobs: readonly JsonText[];
}

/** Reads a choice to its end. Throws what its turn throws, or a `RequestError` when there is no room for it. */
export async function collectChoice(
  events: AsyncIterable<TurnEvent>,
  held: HeldReply,
): Promise<FinishedChoice> {
  const logprobs: JsonText[] = [];
  const finished = await collectTurn(events, (event) => {
    if (event.type !== "part-delta") return true;
    let bytes = event.text.length;
    for (const each of event.logprobs ?? []) {
      const written = logprobText(each);
      logprobs.push(written);
      bytes += written.text.length;
    }
    return held.add(bytes);
  });
  return { ...finished, logprobs };
}

/**
 * One choice for each turn: `n` of them. Keys that would be null arrays are left out, because strict
 * clients refuse them (`@openrouter/sdk`).
 */
export function toCompletion(turns: readonly FinishedChoice[], options: ReplyOptions) {
  return {
    id: options.id,
    object: "chat.completion" as const,
    created: options.created,
    model: options.model,
    provider: options.provider,
    system_fingerprint: SYSTEM_FINGERPRINT,
    choices: turns.map((turn, index) => ({
      index,
      message: toMessage(turn.parts, options),
      logprobs: options.logprobs ? { content: turn.logprobs, refusal: null } : null,
      finish_reason: mapFinishReason(turn.end.finish, options),
      native_finish_reason: toNativeReason(turn.end),
      ...(turn.end.failure &&
        toErrorBody(describeTurnFailure(turn.end.failure), options.errorCodes)),
    })),
    usage: toUsage(addUsage(turns.map((turn) => turn.end.usage))),
  };
}

function toMessage(parts: readonly FinishedPart[], options: ReplyOptions) {
  const reasoning = options.reasoning === "text" ? joined(parts, ["reasoning"]) : "";
  const details =
    options.reasoning === "sealed"
      ? toSealedDetails(parts, options)
      : [
          ...toTextDetails(reasoning),
          ...toSummaryDetails(parts, options),
          ...toSealedDetails(parts, options),
        ];
  const content = joined(parts, ["preamble", "content"]);
  const calls = parts.flatMap((part) => (part.kind === "tool-call" ? [part] : []));
  const [first] = calls;
  const executed = toExecutedTools(parts);
  const annotations = toAnnotations(parts);
  return {
    role: "assistant" as const,
    content: content === "" && calls.length > 0 ? null : content,
    refusal: null,
    ...(annotations.length > 0 && { annotations }),
    ...(executed.length > 0 && { executed_tools: executed }),
    reasoning: reasoning === "" ? null : reasoning,
    ...(details.length > 0 && { reasoning_details: details }),
    ...(reasoning !== "" && options.mirrorReasoning && { reasoning_content: reasoning }),
    ...(first &&
      (options.legacyFunctions
        ? { function_call: { name: first.name, arguments: first.text } }
        : { tool_calls: calls.map((call, index) => toToolCall(call, index, options)) })),
  };
}

function toExecutedTools(parts: readonly FinishedPart[]) {
  return parts
    .flatMap((part) =>
      part.kind === "builtin-call" && part.result ? [{ part, result: part.result }] : [],
    )
    .map(({ part, result }, index) => toExecutedTool(part, part.text, result, index));
}

/** Offsets refer to the message's text, in which all visible parts are joined. */
function toAnnotations(parts: readonly FinishedPart[]) {
  let offset = 0;
  return parts.flatMap(({ kind, text, citations = [] }) => {
    if ((kind !== "preamble" && kind !== "content") || text === "") return [];
    const annotations = citations.map((each) => toAnnotation(each, offset));
    offset += text.length + PART_SEPARATOR.length;
    return annotations;
  });
}

function toTextDetails(text: string) {
  if (text === "") return [];
  return [{ type: "reasoning.text" as const, text, format: "unknown" as const, index: 0 }];
}

function toSummaryDetails(parts: readonly FinishedPart[], options: ReplyOptions) {
  if (options.reasoning === "hidden") return [];
  return parts
    .flatMap(({ summary }) => (summary === undefined ? [] : [summary]))
    .map((summary, number) => toSummaryDetail(summary, number, options));
}

/** One entry per analysis message and call that the gateway ran, so that each can be restored to its place. */
function toSealedDetails(parts: readonly FinishedPart[], options: ReplyOptions) {
  // After the client's last call only analysis is needed later.
  const end = parts.findLastIndex(({ kind }) => kind === "tool-call");
  return parts
    .flatMap((part, at) => {
      if (part.kind === "builtin-call") return at < end ? [part.result?.sealed] : [];
      return [part.sealed];
    })
    .filter((sealed) => sealed !== undefined)
    .map((sealed, number) => toSealedDetail(sealed, number, options));
}

function toToolCall(
  call: { id: string; name: string; text: string },
  index: number,
  options: ReplyOptions,
) {
  const { id, name, text } = call;
  if (name === options.codeTool) {
    return { index, id, type: "custom" as const, custom: { name, input: text } };
  }
  return options.customTools.has(name)
    ? { index, id, type: "custom" as const, custom: { name, input: unwrapCustomInput(text) } }
    : { index, id, type: "function" as const, function: { name, arguments: text } };
}

/** The string in `{"input": "…"}`, or the whole text if the model wrote something else. */
export function unwrapCustomInput(args: string): string {
  const input = asObject(parseJson(args))[CUSTOM_INPUT];
  return typeof input === "string" ? input : args;
}

function joined(parts: readonly FinishedPart[], kinds: readonly FinishedPart["kind"][]): string {
  return parts
    .filter((part) => kinds.includes(part.kind) && part.text !== "")
    .map((part) => part.text)
    .join(PART_SEPARATOR);
}
