/**
 * Builds a response from the events of its turn: output items, status, usage. Pure: no clock, randomness or I/O.
 *
 * Without streaming, the built response is the reply. With streaming, a {@link ResponseListener} such as `to-events.ts`
 * turns the builder's changes into events.
 */
import { logprobText } from "../reply/held-reply.ts";
import { isAnswerEmpty } from "../reply/empty-answer.ts";
import { PrefillNote } from "../reply/prefill-note.ts";
import type { NamespacedFunction } from "../../harmony/tool-names.ts";
import type { ShownCall } from "../../tools/gateway-tool.ts";
import type { Citation } from "../../turn/output/citations.ts";
import type { Part, TurnEnd, TurnEvent, TurnUsage } from "../../turn/turn.ts";
import { describeTurnFailure, type ErrorDescription } from "../errors.ts";
import { FATAL_CODE } from "./to-client.ts";
import type { CompactionEvent } from "./compaction.ts";
import { type ResponsesError, toResponsesError } from "./errors.ts";
import {
  createOpenItem,
  isMessage,
  type OpenItem,
  toItem,
  toStoredItem,
  toUrlCitation,
} from "./output-item.ts";
import type { Listing } from "../tools/mcp-servers.ts";
import { type GatewayIncludes, gatewayItemPrefix } from "./gateway-item.ts";
import { type McpListItem, toListItem } from "./mcp-items.ts";
import { type CallTarget, type CallTargets, toTarget } from "./tools.ts";
import type {
  CompactionItem,
  ItemStatus,
  OutputItem,
  ResponseResource,
  ResponseState,
  ToolSearchOutputItem,
  UrlCitation,
} from "./to-response.ts";
import { toFoundTools } from "./plain-history.ts";

type WholeItem = CompactionItem | McpListItem | ToolSearchOutputItem;

export interface ResponseBuilderOptions {
  /** Creates the response object. Copies the output, which grows. */
  readonly toResponse: (state: ResponseState) => ResponseResource;
  /** Creates an item's id. `prefix`: the item's kind. `index`: its index in the output. */
  readonly toItemId: (prefix: string, index: number) => string;
  /** The wire format of each tool's calls. */
  readonly targets: CallTargets;
  /** Finds a deferred function by name. Absent: there are none. */
  readonly findDeferred?: (name: string) => NamespacedFunction | undefined;
  /** MCP servers whose tools were listed for the request. Their listings are the first items. */
  readonly listings: readonly Listing[];
  /** Seconds since 1970. */
  readonly now: () => number;
  /** False: reasoning items in the response have no text. */
  readonly showReasoning: boolean;
  /** Optional parts of calls that the gateway runs. */
  readonly includes: GatewayIncludes;
  /** Whether the response is queued before it runs. */
  readonly queued: boolean;
  /** Whether the client is Codex, which needs other error codes. */
  readonly isCodex: boolean;
  /** Whether only the context limits the answer. */
  readonly isUnlimited: boolean;
}

/** Text that is added to an item. */
export interface ItemDelta {
  readonly text: string;
  /** The log probabilities of this text: JSON of the list, without brackets. */
  readonly logprobs: string;
}

/** Called synchronously, after the change. Items open and close strictly one after the other. */
export interface ResponseListener {
  onStart(): void;
  onItemStart(item: OpenItem): void;
  onDelta(item: OpenItem, delta: ItemDelta): void;
  /** Reports an annotation of text that has already been reported. */
  onAnnotation(item: OpenItem, annotation: UrlCitation, index: number): void;
  /** Reports that a gateway call is complete and will be run. */
  onRun(item: OpenItem): void;
  /** `done`: the item, filtered for the client. */
  onItemEnd(item: OpenItem, done: OutputItem): void;
  /** Reports an item that is added as a whole. `isCompacting`: the compaction itself also has an event. */
  onWholeItem(item: WholeItem, index: number, isCompacting: boolean): void;
  onEnd(status: "completed" | "incomplete"): void;
  /** Reports that the response has failed. May follow `onEnd` and then replaces it. */
  onFailure(error: ResponsesError): void;
}

const ID_PREFIXES: Record<Exclude<Part["kind"], "builtin-call">, string> = {
  reasoning: "rs",
  preamble: "msg",
  content: "msg",
  "tool-call": "fc",
};

/**
 * The error for Codex when the context is full: Codex then makes room in the context, but gives up after an incomplete
 * response.
 */
const CONTEXT_FULL: ErrorDescription = {
  status: 400,
  message: "The conversation and its answer do not fit into the model's context together.",
  type: "invalid_request_error",
  param: null,
  errorType: "context_length_exceeded",
};

/** Seconds to wait for a busy engine that states no time. */
const BUSY_RETRY_AFTER = 5;

/** Adds the retry time to the error, because a failed response reaches the client without a status or headers. */
function toFailure(error: ErrorDescription): ErrorDescription {
  if (error.errorType !== "provider_overloaded" && error.errorType !== "rate_limit_exceeded") {
    return error;
  }
  const retryAfter = error.retryAfter ?? BUSY_RETRY_AFTER;
  return { ...error, status: 429, errorType: "rate_limit_exceeded", retryAfter };
}

const CALL_PREFIXES: Record<CallTarget["kind"], string> = {
  function: "fc",
  custom: "ctc",
  "tool-search": "tsc",
};

export class ResponseBuilder {
  /** The progress of the prompt, for keep-alives of a stream. */
  readonly prefill = new PrefillNote();
  /** The finished items with all their reasoning, for the store. */
  readonly output: OutputItem[] = [];
  readonly #options: ResponseBuilderOptions;
  /** The finished items, filtered for the client. Items are appended in place, because there may be thousands. */
  readonly #shown: OutputItem[] = [];
  #state: ResponseState;
  #hasStarted = false;
  #isEmpty = false;
  #open: OpenItem | undefined;
  #listener: ResponseListener | undefined;

  constructor(options: ResponseBuilderOptions) {
    this.#options = options;
    this.#state = { status: options.queued ? "queued" : "in_progress", output: this.#shown };
  }

  /** Reports every change from now on to this listener, which replaces the previous one. */
  listen(listener: ResponseListener): void {
    this.#listener = listener;
  }

  /** The current response, filtered for the client. */
  response(): ResponseResource {
    return this.#options.toResponse(this.#state);
  }

  /** Whether the turn has ended without an answer. */
  get isEmpty(): boolean {
    return this.#isEmpty;
  }

  /** Marks the response as cancelled by the client. The listener is not called: there is no event for it. */
  cancel(): void {
    this.#state = { ...this.#state, status: "cancelled" };
  }

  /** Marks the response as failed: the turn has failed, or its end, not yet sent to the client, could not be stored. */
  fail(error: ErrorDescription): void {
    this.#state = { ...this.#state, completedAt: undefined };
    if (!this.#hasStarted) this.#start();
    if (this.#open?.isOver) this.#close("completed");
    this.#failed(error);
  }

  push(event: TurnEvent | CompactionEvent): void {
    switch (event.type) {
      case "compaction":
        return this.#addCompaction(event);
      case "start":
        return this.#start();
      case "prefill":
        return this.prefill.note(event);
      case "part-start":
        this.prefill.clear();
        this.#close("completed");
        return this.#startItem(event.part);
      case "part-delta":
        this.#append(event);
        return this.#annotate(event.citations);
      case "part-end":
        // The next event closes the item: it shows whether the part is complete or was truncated.
        return this.#endPart(event);
      case "builtin-result":
        if (this.#open) {
          this.#open.result = event;
          this.#open.sealed = event.sealed;
        }
        this.#close("completed");
        return this.#addFound(event.shown);
      case "end":
        return this.#finish(event);
      default:
        return event satisfies never;
    }
  }

  #endPart({ sealed, summary }: Extract<TurnEvent, { type: "part-end" }>): void {
    const item = this.#open;
    if (item === undefined) return;
    item.isOver = true;
    item.sealed = sealed;
    item.summary = summary;
    if (item.part.kind === "builtin-call") this.#listener?.onRun(item);
  }

  #start(): void {
    this.#hasStarted = true;
    this.#state = { ...this.#state, status: "in_progress" };
    this.#listener?.onStart();
    for (const listing of this.#options.listings) {
      this.#addWhole(toListItem(listing, this.#options.toItemId("mcpl", this.output.length)));
    }
  }

  #addCompaction({ sealed, isAutomatic }: CompactionEvent): void {
    const id = this.#options.toItemId("cmp", this.output.length);
    this.#addWhole({ id, type: "compaction", encrypted_content: sealed }, isAutomatic);
  }

  #addFound(shown: ShownCall): void {
    if (shown.type !== "tools") return;
    const id = this.#options.toItemId("tso", this.output.length);
    const tools = toFoundTools(shown.found, this.#options.findDeferred ?? (() => undefined));
    const item = { id, type: "tool_search_output", status: "completed" } as const;
    this.#addWhole({ ...item, call_id: null, execution: "server", tools });
  }

  #addWhole(item: WholeItem, isCompacting = false): void {
    const index = this.output.length;
    this.output.push(item);
    this.#shown.push(item);
    this.#listener?.onWholeItem(item, index, isCompacting);
  }

  #startItem(part: Part): void {
    const index = this.output.length;
    const target =
      part.kind === "tool-call" ? toTarget(this.#options.targets, part.name) : undefined;
    const prefix = toPrefix(part, target);
    this.#open = createOpenItem(part, this.#options.toItemId(prefix, index), index, target);
    this.#listener?.onItemStart(this.#open);
  }

  #append({ text, logprobs }: Extract<TurnEvent, { type: "part-delta" }>): void {
    const item = this.#open;
    if (item === undefined || text === "") return;
    if (item.input) return this.#showInput(item, item.input.push(text));
    item.text += text;
    const shown =
      logprobs && isMessage(item.part)
        ? logprobs.map((each) => logprobText(each).text).join(",")
        : "";
    // The JSON is written once, here, because the events of the item's end repeat it four times.
    if (shown !== "") item.logprobs += item.logprobs === "" ? shown : `,${shown}`;
    this.#listener?.onDelta(item, { text, logprobs: shown });
  }

  #showInput(item: OpenItem, input: string): void {
    if (input === "") return;
    item.text += input;
    this.#listener?.onDelta(item, { text: input, logprobs: "" });
  }

  #annotate(citations: readonly Citation[] | undefined): void {
    const item = this.#open;
    if (item === undefined) return;
    for (const citation of citations ?? []) {
      const annotation = toUrlCitation(citation);
      item.annotations.push(annotation);
      this.#listener?.onAnnotation(item, annotation, item.annotations.length - 1);
    }
  }

  #close(status: ItemStatus): void {
    const item = this.#open;
    if (item === undefined) return;
    if (item.input) this.#showInput(item, item.input.end());
    this.#open = undefined;
    const { includes } = this.#options;
    const done = toItem(item, status, this.#options.showReasoning ? "full" : "hidden", includes);
    this.output.push(toStoredItem(item, status, includes));
    this.#shown.push(done);
    this.#listener?.onItemEnd(item, done);
  }

  #finish(end: TurnEnd): void {
    if (end.failure) {
      // An invalid call or answer stays open, so that no client acts on it.
      const isWrong = this.#open?.part.kind === "tool-call" || this.#open?.part.kind === "content";
      if (!isWrong) this.#close("completed");
      const error = describeTurnFailure(end.failure);
      return this.#failed(
        this.#options.isCodex ? { ...error, errorType: FATAL_CODE } : error,
        end.usage,
      );
    }
    this.#isEmpty = end.isInterrupted !== true && isAnswerEmpty(end);
    const isCut = end.finish === "length";
    if (isCut && this.#options.isCodex && this.#options.isUnlimited) {
      this.#close("incomplete");
      return this.#failed(CONTEXT_FULL, end.usage);
    }
    this.#close(isCut ? "incomplete" : "completed");
    const { usage, isInterrupted } = end;
    const isIncomplete = isCut || isInterrupted === true;
    const incompleteReason = isInterrupted ? "steered" : "max_output_tokens";
    this.#state = isIncomplete
      ? { ...this.#state, status: "incomplete", incompleteReason, usage }
      : { ...this.#state, status: "completed", usage, completedAt: this.#options.now() };
    this.#listener?.onEnd(isIncomplete ? "incomplete" : "completed");
  }

  #failed(error: ErrorDescription, usage?: TurnUsage): void {
    const described = toResponsesError(toFailure(error));
    const { code, message } = described;
    this.#state = {
      ...this.#state,
      status: "failed",
      error: { code: code ?? "server_error", message },
      ...(usage && { usage }),
    };
    this.#listener?.onFailure(described);
  }
}

function toPrefix(part: Part, target: CallTarget | undefined): string {
  if (part.kind === "builtin-call") return gatewayItemPrefix(part);
  return target === undefined ? ID_PREFIXES[part.kind] : CALL_PREFIXES[target.kind];
}
