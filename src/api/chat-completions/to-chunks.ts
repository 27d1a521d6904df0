/**
 * Converts turn events to `chat.completion.chunk`s, each as the text of a server-sent event.
 *
 * Clients break if one of these rules is violated (OpenRouter convention): role, ids, names and `format` once, because
 * accumulators join repeated strings; one kind of delta in a chunk; no null where an array or object belongs; exactly
 * one finish reason; usage never beside one.
 */
import type { TokenLogprob } from "../../engines/engine.ts";
import { createPushStream, type PushStream } from "../../streams/push-stream.ts";
import type { Pause } from "../../streams/slices.ts";
import { mergeTurns } from "../../turn/merge.ts";
import type {
  PrefillProgress,
  ToolCallPart,
  TurnEnd,
  TurnEvent,
  TurnUsage,
} from "../../turn/turn.ts";
import { EMPTY_ANSWER_COMMENT, isAnswerEmpty } from "../reply/empty-answer.ts";
import { END_OF_FRAME, sseFrame } from "../reply/event-stream.ts";
import { afterBoth, createPace, logprobText } from "../reply/held-reply.ts";
import { progressMember } from "../reply/prefill-note.ts";
import type { Opening } from "../reply/stream-reply.ts";
import { describeTurnFailure, type ErrorDescription } from "../errors.ts";
import { CallDeltas } from "./call-deltas.ts";
import {
  type Annotation,
  type ChoiceOutput,
  ChoiceWriter,
  type ExecutedTool,
  type SealedDetail,
  type SummaryDetail,
} from "./choice-writer.ts";
import { toErrorBody } from "./errors.ts";
import {
  addUsage,
  mapFinishReason,
  type ReplyOptions,
  SYSTEM_FINGERPRINT,
  toNativeReason,
  toUsage,
} from "./reply.ts";

/** All chunks of all choices as server-sent events. Never fails: a failure is the last chunk. */
export function toFrames(
  turns: readonly AsyncIterable<TurnEvent>[],
  options: ReplyOptions,
  abort: AbortController,
  { hints, fail, pause }: Pick<Opening, "hints" | "fail"> & { readonly pause: Pause },
): PushStream<string> {
  return createPushStream(async (consumer) => {
    const pace = options.logprobs ? createPace(pause) : undefined;
    const writers = turns.map((_, index) => new ChunkWriter(options, index));
    const ended = new Map<number, TurnUsage>();
    try {
      await mergeTurns(turns, (event, index) => {
        let frames = writers[index]?.push(event) ?? "";
        if (event.type === "end") {
          ended.set(index, event.usage);
          hints.isLast = ended.size === turns.length;
          if (hints.isLast) {
            // The usages are in the order of the choices, not of their ends.
            const usages = turns.flatMap((_, at) => ended.get(at) ?? []);
            frames += endFrames(usages, options);
          }
        }
        const demand = frames === "" || consumer(frames);
        return pace === undefined ? demand : afterBoth(pace(frames.length), demand);
      });
    } catch (error) {
      const description = hints.isLast ? undefined : fail(error);
      // Stops the other choices, which may still be queued or running.
      abort.abort(error);
      if (description === undefined) return;
      const running = writers.filter((_, index) => !ended.has(index));
      await consumer(failureFrames(description, running, options));
    }
  });
}

/** The frames of a completion that failed before its first chunk. */
export function toFailureFrames(error: ErrorDescription, options: ReplyOptions): string {
  return failureFrames(error, [new ChunkWriter(options, 0)], options);
}

function failureFrames(
  error: ErrorDescription,
  running: readonly ChunkWriter[],
  options: ReplyOptions,
): string {
  const chunks = running.map((writer) => writer.fail(error)).join("");
  return chunks + plainErrorFrame(error, options);
}

/** The AI SDK's OpenAI provider reads errors only from events that are not chunks; OpenRouter's SDK refuses such events. */
function plainErrorFrame(error: ErrorDescription, { errorCodes }: ReplyOptions): string {
  return errorCodes === "integers" ? "" : sseFrame(JSON.stringify(toErrorBody(error, errorCodes)));
}

function endFrames(usages: readonly TurnUsage[], options: ReplyOptions): string {
  return sseFrame(usageChunk(addUsage(usages), options)) + sseFrame("[DONE]");
}

const DATA = "data: ";
const CONTENT = '"content":';
const REASONING = '"content":"","reasoning":';
const MIRROR = ',"reasoning_content":';
const DETAIL = ',"reasoning_details":[{"type":"reasoning.text","text":';
const DETAIL_END = ',"index":0}]';
const TAIL = `},"finish_reason":null,"native_finish_reason":null,"logprobs":null}]}${END_OF_FRAME}`;
const REASONING_TAIL = DETAIL_END + TAIL;

/** Writes the chunks of one choice. */
export class ChunkWriter {
  readonly #options: ReplyOptions;
  readonly #index: number;
  readonly #deltas: DeltaFrames;
  readonly #choice: ChoiceWriter;

  constructor(options: ReplyOptions, index: number) {
    this.#options = options;
    this.#index = index;
    this.#deltas = new DeltaFrames(options, index);
    this.#choice = new ChoiceWriter(options, this.#deltas);
  }

  /** The frames of an event's chunks: usually one, sometimes none. */
  push(event: TurnEvent): string {
    switch (event.type) {
      case "prefill":
        return this.#prefill(event);
      case "part-start":
        this.#options.prefill?.clear();
        return this.#choice.push(event);
      case "end":
        return this.#choice.push(event) + this.#end(event);
      default:
        return this.#choice.push(event);
    }
  }

  /** The last frames of a choice whose engine has not reported a finish reason. */
  fail(error: ErrorDescription): string {
    return this.#failed(error, "error");
  }

  #prefill(progress: PrefillProgress): string {
    this.#options.prefill?.note(progress);
    if (!this.#options.returnsProgress) return "";
    return `${this.#deltas.top},"choices":[],${progressMember(progress)}}${END_OF_FRAME}`;
  }

  #end(end: TurnEnd): string {
    const { failure, nativeReason } = end;
    return failure === undefined
      ? this.#finish(end)
      : this.#failed(describeTurnFailure(failure), nativeReason);
  }

  #finish(end: TurnEnd): string {
    return (
      (isAnswerEmpty(end) ? EMPTY_ANSWER_COMMENT : "") +
      `${this.#deltas.head}${this.#deltas.takeRole()}"content":""},"finish_reason":"${mapFinishReason(end.finish, this.#options)}",` +
      `"native_finish_reason":${JSON.stringify(toNativeReason(end))},"logprobs":null}]}${END_OF_FRAME}`
    );
  }

  #failed(error: ErrorDescription, nativeReason: string | null): string {
    const body = toErrorBody(error, this.#options.errorCodes);
    return (
      `${this.#deltas.top},"error":${JSON.stringify(body.error)},"choices":[{"index":${this.#index},` +
      `"delta":{${this.#deltas.takeRole()}"content":""},"finish_reason":"error",` +
      `"native_finish_reason":${JSON.stringify(nativeReason)},"logprobs":null}]}${END_OF_FRAME}`
    );
  }
}

/** The frames of a choice's deltas. */
class DeltaFrames implements ChoiceOutput {
  /** The beginning of all chunks. */
  readonly top: string;
  /**
   * The beginning of most frames. A chunk differs from the next in its delta only, so the rest is serialised once:
   * stringifying a whole chunk costs 506 ns, head + delta + tail 66 ns.
   */
  readonly head: string;
  readonly #options: ReplyOptions;
  readonly #calls: CallDeltas;
  /** The beginning of frames that only add text to the open part. */
  #textHead = "";
  #role = '"role":"assistant",';
  #reasoningFormat = ',"format":"unknown"';
  #isInCall = false;

  constructor(options: ReplyOptions, index: number) {
    this.#options = options;
    this.#calls = new CallDeltas(options);
    this.top = DATA + chunkPrefix(options);
    this.head = `${this.top},"choices":[{"index":${index},"delta":{`;
  }

  startText(kind: "reasoning" | "content"): string {
    this.#textHead = this.head + (kind === "reasoning" ? REASONING : CONTENT);
    return "";
  }

  startCall(call: ToolCallPart): string {
    this.#isInCall = true;
    const frame = this.#frame(this.#calls.start(call));
    this.#textHead = this.head + this.#calls.head;
    return frame;
  }

  addReasoning(added: string): string {
    const text = JSON.stringify(added);
    const { mirrorReasoning, detailsText } = this.#options;
    const mirror = mirrorReasoning ? MIRROR + text : "";
    if (this.#role !== "" || this.#reasoningFormat !== "") {
      const detail = detailsText ? DETAIL + text + this.#reasoningFormat + DETAIL_END : "";
      this.#reasoningFormat = "";
      return this.#frame(REASONING + text + mirror + detail);
    }
    return this.#textHead + text + mirror + (detailsText ? DETAIL + text + REASONING_TAIL : TAIL);
  }

  addContent(text: string, logprobs: readonly TokenLogprob[] | undefined): string {
    if (logprobs === undefined && this.#role === "") return this.#textFrame(text, TAIL);
    const members = CONTENT + JSON.stringify(text);
    return logprobs ? this.#withLogprobs(members, logprobs) : this.#frame(members);
  }

  addAnnotations(annotations: readonly Annotation[]): string {
    return this.#frame(`"content":"","annotations":${JSON.stringify(annotations)}`);
  }

  addCallText(text: string): string {
    // The frame that has started the call has taken the role.
    return this.#calls.add(text) ? this.#textFrame(text, this.#calls.tail + TAIL) : "";
  }

  endPart(): string {
    if (!this.#isInCall) return "";
    this.#isInCall = false;
    return this.#frame(this.#calls.end());
  }

  addExecutedTool(tool: ExecutedTool): string {
    return this.#frame(`"content":"","executed_tools":${JSON.stringify([tool])}`);
  }

  addSummary(detail: SummaryDetail): string {
    return this.#details([detail]);
  }

  addSealed(details: readonly SealedDetail[]): string {
    return this.#details(details);
  }

  takeRole(): string {
    const role = this.#role;
    this.#role = "";
    return role;
  }

  #details(details: readonly (SummaryDetail | SealedDetail)[]): string {
    return this.#frame(`"content":"","reasoning_details":${JSON.stringify(details)}`);
  }

  /** A frame that only adds a text to the open part. */
  #textFrame(text: string, tail: string): string {
    return this.#textHead + JSON.stringify(text) + tail;
  }

  #withLogprobs(members: string, logprobs: readonly TokenLogprob[]): string {
    const content = logprobs.map((each) => logprobText(each).text).join(",");
    return (
      `${this.head}${this.takeRole()}${members}},"finish_reason":null,"native_finish_reason":null,` +
      `"logprobs":{"content":[${content}],"refusal":null}}]}${END_OF_FRAME}`
    );
  }

  /** The frame of a chunk with these members in its delta. Empty if there are none. */
  #frame(members: string | undefined): string {
    if (members === undefined) return "";
    return this.head + this.takeRole() + members + TAIL;
  }
}

/**
 * The last chunk. In OpenAI's form the chunk has no choices; otherwise it has one empty choice, because LangChain's
 * ChatOpenRouter reads usage only from a chunk that has one.
 */
function usageChunk(usage: TurnUsage, options: ReplyOptions): string {
  const choices = options.usageWithoutChoices
    ? "[]"
    : '[{"index":0,"delta":{"content":""},"finish_reason":null,"native_finish_reason":null,"logprobs":null}]';
  return `${chunkPrefix(options)},"choices":${choices},"usage":${JSON.stringify(toUsage(usage, options))}}`;
}

function chunkPrefix({ id, created, model, provider }: ReplyOptions): string {
  const object = "chat.completion.chunk";
  const system_fingerprint = SYSTEM_FINGERPRINT;
  return JSON.stringify({ id, object, created, model, provider, system_fingerprint }).slice(0, -1);
}
