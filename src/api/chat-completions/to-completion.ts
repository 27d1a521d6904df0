/** Collects turns to a `chat.completion`. */
import { asObject, parseJson } from "../../engines/untyped-json.ts";
import type { TokenLogprob } from "../../engines/engine.ts";
import type { JsonText } from "../../json-text.ts";
import { consume } from "../../streams/push-stream.ts";
import type { ToolCallPart, TurnEnd, TurnEvent } from "../../turn/turn.ts";
import { describeTurnFailure } from "../errors.ts";
import { type HeldReply, logprobText } from "../reply/held-reply.ts";
import {
  type Annotation,
  type ChoiceOutput,
  ChoiceWriter,
  type ExecutedTool,
  type SealedDetail,
  type SummaryDetail,
} from "./choice-writer.ts";
import { toErrorBody } from "./errors.ts";
import { CUSTOM_INPUT } from "./tools.ts";
import {
  addUsage,
  mapFinishReason,
  type ReplyOptions,
  SYSTEM_FINGERPRINT,
  toNativeReason,
  toUsage,
} from "./reply.ts";

interface FinishedChoice {
  readonly message: WholeMessage;
  readonly end: TurnEnd;
}

/**
 * Reads a choice to its end. Rejects with the error of its turn, or with a `RequestError` if the reply exceeds the
 * budget.
 */
export async function collectChoice(
  events: AsyncIterable<TurnEvent>,
  options: ReplyOptions,
  held: HeldReply,
): Promise<FinishedChoice> {
  const message = new WholeMessage(options);
  const writer = new ChoiceWriter(options, message);
  let end: TurnEnd | undefined;
  await consume(events, (event) => {
    if (event.type === "end") end = event;
    const before = message.size;
    writer.push(event);
    return event.type !== "part-delta" || held.add(message.size - before);
  });
  if (end === undefined) throw new Error("the turn ended without an end event");
  return { message, end };
}

/**
 * A completion with one choice for each of the `n` turns. Keys that would be null arrays are left out, because strict
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
    choices: turns.map(({ message, end }, index) => ({
      index,
      message: message.toMessage(),
      logprobs: options.logprobs ? { content: message.logprobs, refusal: null } : null,
      finish_reason: mapFinishReason(end.finish, options),
      native_finish_reason: toNativeReason(end),
      ...(end.failure && toErrorBody(describeTurnFailure(end.failure), options.errorCodes)),
    })),
    usage: toUsage(addUsage(turns.map((turn) => turn.end.usage)), options),
  };
}

/** Collects a message from the deltas that a stream would send. The text of a part counts when the part is complete. */
class WholeMessage implements ChoiceOutput {
  readonly logprobs: JsonText[] = [];
  /** Characters that are held for the message. */
  size = 0;
  readonly #options: ReplyOptions;
  #reasoning = "";
  #content = "";
  readonly #annotations: Annotation[] = [];
  readonly #executed: ExecutedTool[] = [];
  readonly #summaries: SummaryDetail[] = [];
  readonly #sealed: SealedDetail[] = [];
  readonly #calls: { readonly part: ToolCallPart; readonly text: string }[] = [];
  #open: "reasoning" | "content" | ToolCallPart = "content";
  #text = "";
  #openAnnotations: Annotation[] = [];

  constructor(options: ReplyOptions) {
    this.#options = options;
  }

  startText(kind: "reasoning" | "content"): string {
    return this.#start(kind);
  }

  startCall(call: ToolCallPart): string {
    return this.#start(call);
  }

  addReasoning(text: string): string {
    return this.#add(text);
  }

  addContent(text: string, logprobs: readonly TokenLogprob[] = []): string {
    for (const each of logprobs) {
      const written = logprobText(each);
      this.logprobs.push(written);
      this.size += written.text.length;
    }
    return this.#add(text);
  }

  addAnnotations(annotations: readonly Annotation[]): string {
    this.#openAnnotations.push(...annotations);
    return "";
  }

  addCallText(text: string): string {
    return this.#add(text);
  }

  endPart(): string {
    if (this.#open === "reasoning") this.#reasoning += this.#text;
    else if (this.#open === "content") {
      this.#content += this.#text;
      this.#annotations.push(...this.#openAnnotations);
    } else this.#calls.push({ part: this.#open, text: this.#text });
    return this.#start("content");
  }

  addExecutedTool(tool: ExecutedTool): string {
    this.#executed.push(tool);
    return "";
  }

  addSummary(detail: SummaryDetail): string {
    this.#summaries.push(detail);
    return "";
  }

  addSealed(details: readonly SealedDetail[]): string {
    this.#sealed.push(...details);
    return "";
  }

  toMessage() {
    const { legacyFunctions, mirrorReasoning, detailsText } = this.#options;
    const content = this.#content;
    const reasoning = this.#reasoning;
    const texts = detailsText ? toTextDetails(reasoning) : [];
    const details = [...texts, ...this.#summaries, ...this.#sealed];
    const [first] = this.#calls;
    return {
      role: "assistant" as const,
      content: content === "" && first ? null : content,
      refusal: null,
      ...(this.#annotations.length > 0 && { annotations: this.#annotations }),
      ...(this.#executed.length > 0 && { executed_tools: this.#executed }),
      reasoning: reasoning === "" ? null : reasoning,
      ...(details.length > 0 && { reasoning_details: details }),
      ...(reasoning !== "" && mirrorReasoning && { reasoning_content: reasoning }),
      ...(first &&
        (legacyFunctions
          ? { function_call: { name: first.part.name, arguments: first.text } }
          : {
              tool_calls: this.#calls.map((call, index) => toToolCall(call, index, this.#options)),
            })),
    };
  }

  #start(open: "reasoning" | "content" | ToolCallPart): string {
    this.#open = open;
    this.#text = "";
    this.#openAnnotations = [];
    return "";
  }

  #add(text: string): string {
    this.#text += text;
    this.size += text.length;
    return "";
  }
}

function toTextDetails(text: string) {
  if (text === "") return [];
  return [{ type: "reasoning.text" as const, text, format: "unknown" as const, index: 0 }];
}

function toToolCall(
  { part: { id, name }, text }: { readonly part: ToolCallPart; readonly text: string },
  index: number,
  options: ReplyOptions,
) {
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
