/** Writes a choice from the events of its turn: to the chunks of a stream, or to a plain completion. */
import type { TokenLogprob } from "../../engines/engine.ts";
import type {
  GatewayCallPart,
  Part,
  ToolCallPart,
  TurnEvent,
  GatewayCallResult,
} from "../../turn/turn.ts";
import { PART_SEPARATOR, type ReplyOptions, toSealedDetail, toSummaryDetail } from "./reply.ts";
import { type TrainedTool, trainedToolOf } from "../../harmony/trained-tools.ts";
import { SEARCH_RECIPIENT, TOOL_SEARCH } from "../../tools/tool-search/deferred-functions.ts";
import type { Citation } from "../../turn/output/citations.ts";

export type Annotation = ReturnType<typeof toAnnotation>;
export type ExecutedTool = ReturnType<typeof toExecutedTool>;
export type SealedDetail = ReturnType<typeof toSealedDetail>;
export type SummaryDetail = ReturnType<typeof toSummaryDetail>;

/**
 * Receives the members of a message in the order in which the turn produces them. Each method returns the frames of its
 * change.
 */
export interface ChoiceOutput {
  startText(kind: "reasoning" | "content"): string;
  startCall(call: ToolCallPart): string;
  /** Adds text to the open reasoning part. */
  addReasoning(text: string): string;
  addContent(text: string, logprobs: readonly TokenLogprob[] | undefined): string;
  addAnnotations(annotations: readonly Annotation[]): string;
  addCallText(text: string): string;
  endPart(): string;
  addExecutedTool(tool: ExecutedTool): string;
  addSummary(detail: SummaryDetail): string;
  addSealed(details: readonly SealedDetail[]): string;
}

/** Encrypted content for the client to send back: analysis, calls that the gateway ran, and their positions. */
interface Sealed {
  readonly text: string;
  /** Whether the content is a call that the gateway ran. */
  readonly isCall: boolean;
}

type Event<T extends TurnEvent["type"]> = Extract<TurnEvent, { type: T }>;

export class ChoiceWriter {
  readonly #options: ReplyOptions;
  readonly #output: ChoiceOutput;
  #open: Part | undefined;
  #separator = "";
  #hasReasoning = false;
  #hasContent = false;
  /** Position of the open part's text in the message's. */
  #partStart = 0;
  /** Length of the message's text. */
  #length = 0;
  #executed = 0;
  #gatewayText = "";
  #lastCall: GatewayCallPart | undefined;
  #sealed: Sealed[] = [];
  #sealedCount = 0;
  #summaries = 0;

  constructor(options: ReplyOptions, output: ChoiceOutput) {
    this.#options = options;
    this.#output = output;
  }

  push(event: TurnEvent): string {
    switch (event.type) {
      case "start":
      case "prefill":
        return "";
      case "part-start":
        return this.#start(event);
      case "part-delta":
        return this.#delta(event);
      case "part-end":
        return this.#endPart(event);
      case "builtin-result":
        if (event.sealed !== undefined) this.#sealed.push({ text: event.sealed, isCall: true });
        return this.#executedTool(event);
      case "end":
        // Calls that the gateway ran are needed later only if a call for the client follows.
        this.#sealed = this.#sealed.filter(({ isCall }) => !isCall);
        return this.#sealedDetails();
      default:
        return event satisfies never;
    }
  }

  #start({ part, sealed }: Event<"part-start">): string {
    this.#open = part;
    if (sealed !== undefined) this.#sealed.push({ text: sealed, isCall: false });
    switch (part.kind) {
      case "reasoning":
        this.#separator = this.#hasReasoning ? PART_SEPARATOR : "";
        return this.#output.startText("reasoning");
      case "preamble":
      case "content":
        this.#separator = this.#hasContent ? PART_SEPARATOR : "";
        this.#partStart = this.#length + this.#separator.length;
        return this.#output.startText("content");
      case "builtin-call":
        this.#lastCall = part;
        this.#gatewayText = "";
        return "";
      case "tool-call":
        return this.#sealedDetails() + this.#output.startCall(part);
      default:
        return part satisfies never;
    }
  }

  #delta(event: Event<"part-delta">): string {
    switch (this.#open?.kind) {
      case "reasoning":
        if (this.#options.reasoning !== "text") return "";
        this.#hasReasoning = true;
        return this.#output.addReasoning(this.#takeSeparator() + event.text);
      case "preamble":
      case "content":
        return this.#content(event);
      case "builtin-call":
        this.#gatewayText += event.text;
        return "";
      case "tool-call":
        return this.#output.addCallText(event.text);
      default:
        return "";
    }
  }

  #content({ text, logprobs, citations }: Event<"part-delta">): string {
    this.#hasContent = true;
    const shown = this.#takeSeparator() + text;
    this.#length += shown.length;
    const frames = this.#output.addContent(shown, logprobs);
    if (citations === undefined) return frames;
    const annotations = citations.map((each) => toAnnotation(each, this.#partStart));
    return frames + this.#output.addAnnotations(annotations);
  }

  #executedTool(result: Event<"builtin-result">): string {
    if (this.#lastCall === undefined) return "";
    const entry = toExecutedTool(this.#lastCall, this.#gatewayText, result, this.#executed++);
    return this.#output.addExecutedTool(entry);
  }

  #endPart({ sealed, summary }: Event<"part-end">): string {
    this.#open = undefined;
    const { reasoning } = this.#options;
    if (sealed !== undefined && reasoning === "sealed") {
      this.#sealed.push({ text: sealed, isCall: false });
    }
    const frames = this.#output.endPart();
    if (summary === undefined || (reasoning !== "text" && reasoning !== "summary")) return frames;
    const detail = toSummaryDetail(summary, this.#summaries++, this.#options);
    return frames + this.#output.addSummary(detail);
  }

  /**
   * Sends the encrypted entries in one chunk, before the first call or at the end: `openai`'s stream helper keeps only
   * the last value of a field it does not know.
   */
  #sealedDetails(): string {
    if (this.#sealed.length === 0) return "";
    const details = this.#sealed.map(({ text }) =>
      toSealedDetail(text, this.#sealedCount++, this.#options),
    );
    this.#sealed = [];
    return this.#output.addSealed(details);
  }

  #takeSeparator(): string {
    const separator = this.#separator;
    this.#separator = "";
    return separator;
  }
}

/**
 * A call that the gateway has run, in Groq's format. The call is never in `tool_calls`, because a client would try to
 * run it.
 *
 * @param index the call's index in the message. `args`: the part's text.
 */
function toExecutedTool(
  part: GatewayCallPart,
  args: string,
  { shown, messages }: GatewayCallResult,
  index: number,
) {
  const output = messages.at(-1)?.content;
  return {
    index,
    ...toCall(part, args),
    output: typeof output === "string" ? output : "",
    ...(shown.type === "search" && {
      search_results: {
        results: shown.results.map(({ title, url, snippet }, rank) => ({
          title,
          url,
          content: snippet,
          // Search services return a ranking without scores.
          score: 1 / (rank + 1),
        })),
      },
    }),
    ...(shown.type === "code" && {
      code_results: shown.outputs.map((each) =>
        each.type === "logs" ? { text: each.logs } : { png: each.url },
      ),
    }),
  };
}

/** A citation in OpenAI's format. `offset`: position of the part's text in the message's. */
function toAnnotation({ start, end, url, title }: Citation, offset: number) {
  return {
    type: "url_citation" as const,
    url_citation: { start_index: start + offset, end_index: end + offset, title, url },
  };
}

function toCall({ name, origin }: GatewayCallPart, args: string) {
  if (name === SEARCH_RECIPIENT) return { type: TOOL_SEARCH, arguments: args };
  if (origin === undefined) return CALLS[trainedToolOf(name) ?? "python"](name, args);
  return { type: "mcp", name: origin.tool, server_label: origin.server, arguments: args };
}

type ToCall = (name: string, args: string) => { readonly type: string; readonly arguments: string };

const CALLS: Readonly<Record<TrainedTool, ToCall>> = {
  browser: (name, args) => ({ type: name.replace(".", "_"), arguments: args }),
  python: (_name, code) => ({
    type: "code_interpreter",
    arguments: JSON.stringify({ code }),
  }),
};
