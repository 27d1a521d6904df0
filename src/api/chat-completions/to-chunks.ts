/**
 * Converts turn events to `chat.completion.chunk`s, each as the text of a server-sent event.
 *
 * Each rule here is one a client breaks on (OpenRouter convention): role, ids, names and `format` once,
 * because accumulators join repeated strings; one kind of delta in a chunk; no null where an array or
 * object belongs; exactly one finish reason; usage never beside one.
 */
import type { TokenLogprob } from "../../engines/engine.ts";
import type { Citation } from "../../turn/output/citations.ts";
import type {
  BuiltinCallPart,
  BuiltinCallResult,
  Part,
  PrefillProgress,
  ToolCallPart,
  TurnEnd,
  TurnEvent,
  TurnUsage,
} from "../../turn/turn.ts";
import { EMPTY_ANSWER_COMMENT, isAnswerEmpty } from "../reply/empty-answer.ts";
import { END_OF_FRAME } from "../reply/event-stream.ts";
import { logprobText } from "../reply/held-reply.ts";
import { progressMember } from "../reply/prefill-note.ts";
import { describeTurnFailure, type ErrorDescription } from "../errors.ts";
import { CallDeltas } from "./call-deltas.ts";
import { toErrorBody } from "./errors.ts";
import {
  mapFinishReason,
  PART_SEPARATOR,
  type ReplyOptions,
  SYSTEM_FINGERPRINT,
  toNativeReason,
  toSealedDetail,
  toSummaryDetail,
  toUsage,
} from "./reply.ts";
import { toAnnotation, toExecutedTool } from "./executed-tools.ts";

/** Encrypted content for the client to send back: analysis, calls that the gateway ran, and their positions. */
interface Sealed {
  readonly text: string;
  /** The name, for a call that the gateway ran. */
  readonly isCall: boolean;
}

type Delta = Extract<TurnEvent, { type: "part-delta" }>;
type PartStart = Extract<TurnEvent, { type: "part-start" }>;
type PartEnd = Extract<TurnEvent, { type: "part-end" }>;

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
  readonly #calls: CallDeltas;
  /** What all chunks begin with. */
  readonly #top: string;
  /**
   * What most frames begin with. A chunk differs from the next in its delta only, so the rest is serialised once:
   * stringifying a whole chunk costs 506 ns, head + delta + tail 66 ns.
   */
  readonly #head: string;
  /** What frames begin with that add text to the open part and nothing else. */
  #textHead = "";
  #role = '"role":"assistant",';
  #open: Part | undefined;
  #reasoningFormat = ',"format":"unknown"';
  #separator = "";
  #hasReasoning = false;
  #hasContent = false;
  /** Position of the open part's text in the message's. */
  #partStart = 0;
  /** Length of the message's text. */
  #length = 0;
  #executed = 0;
  #builtinText = "";
  #lastCall: BuiltinCallPart | undefined;
  #sealed: Sealed[] = [];
  #sealedCount = 0;
  #summaries = 0;

  constructor(options: ReplyOptions, index: number) {
    this.#options = options;
    this.#index = index;
    this.#calls = new CallDeltas(options);
    this.#top = DATA + chunkPrefix(options);
    this.#head = `${this.#top},"choices":[{"index":${index},"delta":{`;
  }

  /** The frames of an event's chunks: usually one, sometimes none. */
  push(event: TurnEvent): string {
    switch (event.type) {
      case "start":
        return "";
      case "prefill":
        return this.#prefill(event);
      case "part-start":
        this.#options.prefill?.clear();
        return this.#start(event);
      case "part-delta":
        return this.#delta(event);
      case "part-end":
        return this.#endPart(event);
      case "builtin-result":
        if (event.sealed !== undefined) this.#sealed.push({ text: event.sealed, isCall: true });
        return this.#executedTool(event);
      case "end":
        return this.#end(event);
      default:
        return event satisfies never;
    }
  }

  #prefill(progress: PrefillProgress): string {
    this.#options.prefill?.note(progress);
    if (!this.#options.returnsProgress) return "";
    return `${this.#top},"choices":[],${progressMember(progress)}}${END_OF_FRAME}`;
  }

  /** The engine has not reported a finish reason. */
  fail(error: ErrorDescription): string {
    return this.#failed(error, "error");
  }

  #start({ part, sealed }: PartStart): string {
    this.#open = part;
    if (sealed !== undefined) this.#sealed.push({ text: sealed, isCall: false });
    switch (part.kind) {
      case "reasoning":
        this.#textHead = this.#head + REASONING;
        this.#separator = this.#hasReasoning ? PART_SEPARATOR : "";
        return "";
      case "preamble":
      case "content":
        this.#textHead = this.#head + CONTENT;
        this.#separator = this.#hasContent ? PART_SEPARATOR : "";
        this.#partStart = this.#length + this.#separator.length;
        return "";
      case "builtin-call":
        this.#lastCall = part;
        this.#builtinText = "";
        return "";
      case "tool-call":
        return this.#startCall(part);
      default:
        return part satisfies never;
    }
  }

  #startCall(part: ToolCallPart): string {
    const frames = this.#sealedDetails() + this.#frame(this.#calls.start(part));
    this.#textHead = this.#head + this.#calls.head;
    return frames;
  }

  #delta(event: Delta): string {
    switch (this.#open?.kind) {
      case "reasoning":
        return this.#reasoning(event);
      case "preamble":
      case "content":
        return this.#content(event);
      case "builtin-call":
        this.#builtinText += event.text;
        return "";
      case "tool-call":
        return this.#callDelta(event.text);
      default:
        return "";
    }
  }

  #reasoning({ text: delta }: Delta): string {
    if (this.#options.reasoning !== "text") return "";
    this.#hasReasoning = true;
    const text = JSON.stringify(this.#takeSeparator() + delta);
    const more = this.#options.mirrorReasoning ? MIRROR + text + DETAIL : DETAIL;
    if (this.#role !== "" || this.#reasoningFormat !== "") {
      const format = this.#reasoningFormat;
      this.#reasoningFormat = "";
      return this.#frame(REASONING + text + more + text + format + DETAIL_END);
    }
    return this.#textHead + text + more + text + REASONING_TAIL;
  }

  #content({ text, logprobs, citations }: Delta): string {
    this.#hasContent = true;
    const shown = this.#takeSeparator() + text;
    this.#length += shown.length;
    if (logprobs || citations || this.#role !== "") {
      const members = CONTENT + JSON.stringify(shown);
      const frame = logprobs ? this.#withLogprobs(members, logprobs) : this.#frame(members);
      return citations ? frame + this.#annotations(citations) : frame;
    }
    return this.#textFrame(shown, TAIL);
  }

  #callDelta(text: string): string {
    // The frame that has started the call has taken the role.
    return this.#calls.add(text) ? this.#textFrame(text, this.#calls.tail + TAIL) : "";
  }

  /** A frame that adds a text to the open part, once, and nothing else. */
  #textFrame(text: string, tail: string): string {
    return this.#textHead + JSON.stringify(text) + tail;
  }

  #withLogprobs(members: string, logprobs: readonly TokenLogprob[]): string {
    const content = logprobs.map((each) => logprobText(each).text).join(",");
    return (
      `${this.#head}${this.#takeRole()}${members}},"finish_reason":null,"native_finish_reason":null,` +
      `"logprobs":{"content":[${content}],"refusal":null}}]}${END_OF_FRAME}`
    );
  }

  #annotations(citations: readonly Citation[]): string {
    const entries = citations.map((each) => toAnnotation(each, this.#partStart));
    return this.#frame(`"content":"","annotations":${JSON.stringify(entries)}`);
  }

  #executedTool(event: BuiltinCallResult): string {
    if (this.#lastCall === undefined) return this.#frame('"content":""');
    const entry = toExecutedTool(this.#lastCall, this.#builtinText, event, this.#executed++);
    return this.#frame(`"content":"","executed_tools":${JSON.stringify([entry])}`);
  }

  #endPart({ sealed, summary }: PartEnd): string {
    const part = this.#open;
    this.#open = undefined;
    if (sealed !== undefined && this.#options.reasoning === "sealed") {
      this.#sealed.push({ text: sealed, isCall: false });
    }
    if (summary !== undefined) return this.#summaryDetail(summary);
    return part?.kind === "tool-call" ? this.#frame(this.#calls.end()) : "";
  }

  #summaryDetail(summary: string): string {
    const { reasoning } = this.#options;
    if (reasoning !== "text" && reasoning !== "summary") return "";
    const details = [toSummaryDetail(summary, this.#summaries++, this.#options)];
    return this.#frame(`"content":"","reasoning_details":${JSON.stringify(details)}`);
  }

  /**
   * Sent in one chunk, before the first call or at the end: `openai`'s stream helper keeps only the last value of a field
   * it does not know.
   */
  #sealedDetails(): string {
    if (this.#sealed.length === 0) return "";
    const details = this.#sealed.map(({ text }) =>
      toSealedDetail(text, this.#sealedCount++, this.#options),
    );
    this.#sealed = [];
    return this.#frame(`"content":"","reasoning_details":${JSON.stringify(details)}`);
  }

  #end(event: TurnEnd): string {
    // Calls of the gateway are needed later only if a call of the client's follows.
    this.#sealed = this.#sealed.filter(({ isCall }) => !isCall);
    const details = this.#sealedDetails();
    if (event.failure === undefined) return details + this.#finish(event);
    return details + this.#failed(describeTurnFailure(event.failure), event.nativeReason);
  }

  #finish(end: TurnEnd): string {
    return (
      (isAnswerEmpty(end) ? EMPTY_ANSWER_COMMENT : "") +
      `${this.#head}${this.#takeRole()}"content":""},"finish_reason":"${mapFinishReason(end.finish, this.#options)}",` +
      `"native_finish_reason":${JSON.stringify(toNativeReason(end))},"logprobs":null}]}${END_OF_FRAME}`
    );
  }

  #failed(error: ErrorDescription, nativeReason: string | null): string {
    const body = toErrorBody(error, this.#options.errorCodes);
    return (
      `${this.#top},"error":${JSON.stringify(body.error)},"choices":[{"index":${this.#index},` +
      `"delta":{${this.#takeRole()}"content":""},"finish_reason":"error",` +
      `"native_finish_reason":${JSON.stringify(nativeReason)},"logprobs":null}]}${END_OF_FRAME}`
    );
  }

  /** The frame of a chunk with these members in its delta; none without any. */
  #frame(members: string | undefined): string {
    if (members === undefined) return "";
    return this.#head + this.#takeRole() + members + TAIL;
  }

  #takeRole(): string {
    const role = this.#role;
    this.#role = "";
    return role;
  }

  #takeSeparator(): string {
    const separator = this.#separator;
    this.#separator = "";
    return separator;
  }
}

/**
 * The last chunk. In OpenAI's form it has no choices; otherwise one empty choice, because LangChain's
 * ChatOpenRouter reads usage only from a chunk that has one.
 */
export function usageChunk(usage: TurnUsage, options: ReplyOptions): string {
  const choices = options.usageWithoutChoices
    ? "[]"
    : '[{"index":0,"delta":{"content":""},"finish_reason":null,"native_finish_reason":null,"logprobs":null}]';
  return `${chunkPrefix(options)},"choices":${choices},"usage":${JSON.stringify(toUsage(usage))}}`;
}

function chunkPrefix({ id, created, model, provider }: ReplyOptions): string {
  const object = "chat.completion.chunk";
  const system_fingerprint = SYSTEM_FINGERPRINT;
  return JSON.stringify({ id, object, created, model, provider, system_fingerprint }).slice(0, -1);
}
