/**
 * Builds a response from the events of its turn: output items, status, usage. Pure: no clock, randomness or I/O.
 *
 * Without streaming, the built response is the reply. With streaming, a {@link ResponseListener} such as `to-events.ts`
 * turns the builder's changes into events.
 */
import type { Citation } from "../../turn/citations.ts";
import type { Part, TurnEnd, TurnEvent, TurnUsage } from "../../turn/turn.ts";
import type { TokenLogprob } from "../../engines/engine.ts";
import { describeTurnFailure, type ErrorDescription } from "../errors.ts";
import { FATAL_CODE } from "./codex.ts";
import type { CompactionEvent } from "./compaction.ts";
import { type ResponsesError, toResponsesError } from "./errors.ts";
import {
  createOpenItem,
  isMessage,
  type OpenItem,
  toItem,
  toOutputLogprob,
  toStoredItem,
  toUrlCitation,
} from "./output-item.ts";
import type { Listing } from "../mcp-servers.ts";
import { type BuiltinIncludes, builtinItemPrefix } from "./builtin-item.ts";
import { type McpListItem, toListItem } from "./mcp-items.ts";
import { type CallTarget, type CallTargets, toTarget } from "./tools.ts";
import type {
  CompactionItem,
  ItemStatus,
  OutputItem,
  OutputLogprob,
  ResponseResource,
  ResponseState,
  UrlCitation,
} from "./to-response.ts";

export interface ResponseBuilderOptions {
  /** Creates the response object. */
  readonly toResponse: (state: ResponseState) => ResponseResource;
  /** Creates an item's id. `prefix` is its kind, `index` its place in the output. */
  readonly toItemId: (prefix: string, index: number) => string;
  /** The wire format of each tool's calls. */
  readonly targets: CallTargets;
  /** MCP servers whose tools were listed for the request: they are the first items. */
  readonly listings: readonly Listing[];
  /** Seconds since 1970. */
  readonly now: () => number;
  /** False: reasoning items in the response have no text. */
  readonly showReasoning: boolean;
  /** Optional parts of calls that the gateway runs. */
  readonly includes: BuiltinIncludes;
  /** The response is queued before it runs. */
  readonly queued: boolean;
  /** The client is Codex, which needs other codes (`codex.ts`). */
  readonly isCodex: boolean;
  /** The answer is limited by the context only. */
  readonly isUnlimited: boolean;
}

export interface ResponseBuilder {
  push(event: TurnEvent | CompactionEvent): void;
  /** The turn has failed, or its end, which no client has seen yet, could not be stored. */
  fail(error: ErrorDescription): void;
  /** The client has cancelled the turn. The listener is not called: there is no event for it. */
  cancel(): void;
  /** Reports every change from now on to this listener, which replaces the previous one. */
  listen(listener: ResponseListener): void;
  /** The current response as the client may see it. */
  readonly response: ResponseResource;
  /** The finished items with all their reasoning, for the store. */
  readonly output: readonly OutputItem[];
}

/** Called synchronously, after the change. Items open and close strictly one after the other. */
export interface ResponseListener {
  onStart(): void;
  onItemStart(item: OpenItem): void;
  /** `logprobs` of this text, if the item has any. */
  onDelta(item: OpenItem, text: string, logprobs: readonly OutputLogprob[] | undefined): void;
  /** An annotation of text that has been reported. */
  onAnnotation(item: OpenItem, annotation: UrlCitation, index: number): void;
  /** A call that the gateway runs is complete and will be run. */
  onRun(item: OpenItem): void;
  /** `done`: the item as the client may see it. */
  onItemEnd(item: OpenItem, done: OutputItem): void;
  /** An item that is added at once. */
  onWholeItem(item: CompactionItem | McpListItem, index: number): void;
  onEnd(status: "completed" | "incomplete"): void;
  /** The response has failed. May follow `onEnd`, which it then replaces. */
  onFailure(error: ResponsesError): void;
}

const ID_PREFIXES: Record<Exclude<Part["kind"], "builtin-call">, string> = {
  reasoning: "rs",
  preamble: "msg",
  content: "msg",
  "tool-call": "fc",
};

/** Codex makes room in the context after this, and gives up after an incomplete response. */
const CONTEXT_FULL: ErrorDescription = {
  status: 400,
  message: "The conversation and its answer do not fit into the model's context together.",
  type: "invalid_request_error",
  param: null,
  errorType: "context_length_exceeded",
};

/** Seconds to wait for a busy engine that names no time. */
const BUSY_RETRY_AFTER = 5;

/** A client that gets a failed response has no status and no header: the error says when to try again. */
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

export function createResponseBuilder(options: ResponseBuilderOptions): ResponseBuilder {
  const output: OutputItem[] = [];
  let state: ResponseState = { status: options.queued ? "queued" : "in_progress", output: [] };
  let hasStarted = false;
  let open: OpenItem | undefined;
  let listener: ResponseListener | undefined;

  return {
    push,
    fail(error) {
      state = { ...state, completedAt: undefined };
      if (!hasStarted) start();
      if (open?.isOver) close("completed");
      failed(error);
    },
    cancel() {
      state = { ...state, status: "cancelled" };
    },
    listen(next) {
      listener = next;
    },
    get response() {
      return options.toResponse(state);
    },
    output,
  };

  function push(event: TurnEvent | CompactionEvent): void {
    switch (event.type) {
      case "compaction":
        return addCompaction(event.sealed);
      case "start":
        return start();
      case "part-start":
        close("completed");
        return startItem(event.part);
      case "part-delta":
        append(event.text, event.logprobs);
        return annotate(event.citations);
      case "part-end":
        // Closed by the next event, which tells whether the part is complete or was cut.
        if (open) {
          open.isOver = true;
          open.sealed = event.sealed;
          open.summary = event.summary;
          if (open.part.kind === "builtin-call") listener?.onRun(open);
        }
        return undefined;
      case "builtin-result":
        if (open) {
          open.result = event;
          open.sealed = event.sealed;
        }
        return close("completed");
      case "end":
        return finish(event);
      default:
        return event satisfies never;
    }
  }

  function start(): void {
    hasStarted = true;
    state = { ...state, status: "in_progress" };
    listener?.onStart();
    for (const listing of options.listings) {
      addWhole(toListItem(listing, options.toItemId("mcpl", output.length)));
    }
  }

  function addCompaction(sealed: string): void {
    const id = options.toItemId("cmp", output.length);
    addWhole({ id, type: "compaction", encrypted_content: sealed });
  }

  function addWhole(item: CompactionItem | McpListItem): void {
    const index = output.length;
    output.push(item);
    state = { ...state, output: [...state.output, item] };
    listener?.onWholeItem(item, index);
  }

  function startItem(part: Part): void {
    const index = output.length;
    const target = part.kind === "tool-call" ? toTarget(options.targets, part.name) : undefined;
    const prefix = toPrefix(part, target);
    open = createOpenItem(part, options.toItemId(prefix, index), index, target);
    listener?.onItemStart(open);
  }

  function append(text: string, logprobs: readonly TokenLogprob[] | undefined): void {
    if (open === undefined || text === "") return;
    if (open.input) return showInput(open, open.input.push(text));
    open.text += text;
    const shown =
      logprobs && isMessage(open.part) ? logprobs.map((each) => toOutputLogprob(each)) : undefined;
    if (shown) open.logprobs.push(...shown);
    listener?.onDelta(open, text, shown);
  }

  function showInput(item: OpenItem, input: string): void {
    if (input === "") return;
    item.text += input;
    listener?.onDelta(item, input, undefined);
  }

  function annotate(citations: readonly Citation[] | undefined): void {
    for (const citation of citations ?? []) {
      if (open === undefined) return;
      const annotation = toUrlCitation(citation);
      open.annotations.push(annotation);
      listener?.onAnnotation(open, annotation, open.annotations.length - 1);
    }
  }

  function close(status: ItemStatus): void {
    const item = open;
    if (item === undefined) return;
    if (item.input) showInput(item, item.input.end());
    open = undefined;
    const { includes } = options;
    const done = toItem(item, status, options.showReasoning ? "full" : "hidden", includes);
    output.push(toStoredItem(item, status, includes));
    state = { ...state, output: [...state.output, done] };
    listener?.onItemEnd(item, done);
  }

  function finish(end: TurnEnd): void {
    if (end.failure) {
      // An invalid call or answer stays open, so that no client acts on it.
      const isWrong = open?.part.kind === "tool-call" || open?.part.kind === "content";
      if (!isWrong) close("completed");
      const error = describeTurnFailure(end.failure);
      return failed(options.isCodex ? { ...error, errorType: FATAL_CODE } : error, end.usage);
    }
    const isCut = end.finish === "length";
    if (isCut && options.isCodex && options.isUnlimited) {
      close("incomplete");
      return failed(CONTEXT_FULL, end.usage);
    }
    close(isCut ? "incomplete" : "completed");
    const { usage } = end;
    state = isCut
      ? { ...state, status: "incomplete", usage }
      : { ...state, status: "completed", usage, completedAt: options.now() };
    listener?.onEnd(isCut ? "incomplete" : "completed");
  }

  function failed(error: ErrorDescription, usage?: TurnUsage): void {
    const described = toResponsesError(toFailure(error));
    const { code, message } = described;
    state = {
      ...state,
      status: "failed",
      error: { code: code ?? "server_error", message },
      ...(usage && { usage }),
    };
    listener?.onFailure(described);
  }
}

function toPrefix(part: Part, target: CallTarget | undefined): string {
  if (part.kind === "builtin-call") return builtinItemPrefix(part);
  return target === undefined ? ID_PREFIXES[part.kind] : CALL_PREFIXES[target.kind];
}
