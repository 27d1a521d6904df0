/**
 * The events of a response, as text, while it is built.
 *
 * Events repeat ids, indexes and texts exactly, because strict clients compare them (OpenAI's stream helper throws).
 */
import type { TurnEvent } from "../../turn/turn.ts";
import type { ErrorDescription } from "../errors.ts";
import { type ResponsesError, toErrorMembers } from "./errors.ts";
import {
  builtinDeltaType,
  type BuiltinEvent,
  eventsAtEnd,
  eventsAtRun,
  eventsAtStart,
} from "./builtin-item.ts";
import { isMessage, type OpenItem, toItem, toOutputText } from "./output-item.ts";
import type { CompactionEvent } from "./compaction.ts";
import type { ResponseBuilder } from "./response-builder.ts";
import type { CallTarget } from "./tools.ts";
import { listEvents, type McpListItem } from "./mcp-items.ts";
import type { CompactionItem, OutputItem, OutputLogprob, UrlCitation } from "./to-response.ts";

/**
 * How the events of reasoning are named: `response.reasoning_text.…`, which most clients read, or `response.reasoning.…`,
 * the spelling of Open Responses.
 */
export type ReasoningEvents = "reasoning_text" | "reasoning";

/** One event: its type, and its body as JSON text. */
export interface ResponseEvent {
  readonly type: string;
  readonly json: string;
}

export interface EventWriterOptions {
  readonly reasoningEvents: ReasoningEvents;
  /** False: reasoning items come without their text. */
  readonly showReasoning: boolean;
  /** The response is queued before it runs: call {@link EventWriter.queue} first. */
  readonly queued: boolean;
}

/** Drives a builder. Each method returns the events of its changes. */
export interface EventWriter {
  /** The events before the turn runs, if the response is queued. */
  queue(): ResponseEvent[];
  push(event: TurnEvent | CompactionEvent): ResponseEvent[];
  /** Events without news, for a client that counts only events. */
  keepAlive(): ResponseEvent[];
  /**
   * `error`, then `response.failed`. After the end of the turn this replaces the last event, which the caller must not
   * have sent.
   */
  fail(error: ErrorDescription): ResponseEvent[];
}

/** Shared by all events of the open item. */
interface ItemText {
  /** Its position, as the JSON members that all its events begin with. */
  readonly place: string;
  /** Its deltas: their type, undefined if they are not sent, and the JSON around number and text. */
  readonly deltaType: string | undefined;
  readonly deltaHead: string;
  readonly deltaTail: string;
}

export function createEventWriter(
  builder: ResponseBuilder,
  options: EventWriterOptions,
): EventWriter {
  const reasoning = `response.${options.reasoningEvents}`;
  let events: ResponseEvent[] = [];
  let sequence = 0;
  let hasBeenCreated = false;
  let hasEnded = false;
  let itemText: ItemText | undefined;

  builder.listen({
    onStart,
    onItemStart,
    onDelta,
    onAnnotation,
    onRun,
    onItemEnd,
    onWholeItem,
    onEnd,
    onFailure,
  });

  return {
    queue() {
      create();
      lifecycle("queued");
      return drain();
    },
    push(event) {
      builder.push(event);
      return drain();
    },
    keepAlive() {
      if (hasEnded) return [];
      create();
      lifecycle("in_progress");
      return drain();
    },
    fail(error) {
      builder.fail(error);
      return drain();
    },
  };

  function drain(): ResponseEvent[] {
    const written = events;
    events = [];
    return written;
  }

  function onStart(): void {
    create();
    lifecycle("in_progress");
  }

  function create(): void {
    if (!hasBeenCreated) lifecycle("created");
    hasBeenCreated = true;
  }

  function onItemStart(item: OpenItem): void {
    const { part, id, index } = item;
    const content = hasNoParts(part) ? "" : '"content_index":0,';
    const place = `"item_id":${JSON.stringify(id)},"output_index":${index},${content}`;
    const deltaType = deltaTypeOf(item);
    itemText = {
      place,
      deltaType,
      deltaHead: `{"type":"${deltaType}","sequence_number":`,
      deltaTail: `,${place}"delta":`,
    };
    const added = JSON.stringify(toItem(item, "in_progress", "empty", NOTHING));
    write("response.output_item.added", `"output_index":${index},"item":${added}`);
    if (part.kind === "builtin-call") writeBuiltin(eventsAtStart({ ...item, part }));
    if (hasContentPart(item)) {
      write("response.content_part.added", `${place}"part":${toPart(item)}`);
    }
  }

  function onAnnotation(_: OpenItem, annotation: UrlCitation, index: number): void {
    const members = `"annotation_index":${index},"annotation":${JSON.stringify(annotation)}`;
    write("response.output_text.annotation.added", `${itemText?.place ?? ""}${members}`);
  }

  function onRun(item: OpenItem): void {
    const { part } = item;
    if (part.kind === "builtin-call") writeBuiltin(eventsAtRun({ ...item, part }));
  }

  function writeBuiltin(written: readonly BuiltinEvent[]): void {
    const place = itemText?.place ?? "";
    for (const { type, members } of written) {
      write(type, members === "" ? place.slice(0, -1) : place + members);
    }
  }

  function onDelta(
    { part }: OpenItem,
    text: string,
    logprobs: readonly OutputLogprob[] | undefined,
  ): void {
    if (itemText?.deltaType === undefined) return;
    const { deltaType, deltaHead, deltaTail } = itemText;
    // Only number and text differ from the last delta. Assembled from cached parts, an event with its frame costs
    // 220 ns; serialised anew, 380 ns.
    const json = `${deltaHead}${sequence++}${deltaTail}${JSON.stringify(text)}`;
    if (!isMessage(part)) events.push({ type: deltaType, json: `${json}}` });
    else if (!logprobs) events.push({ type: deltaType, json: `${json},"logprobs":[]}` });
    else events.push({ type: deltaType, json: `${json},"logprobs":${JSON.stringify(logprobs)}}` });
  }

  function onItemEnd(item: OpenItem, done: OutputItem): void {
    const place = itemText?.place ?? "";
    const text = JSON.stringify(item.text);
    if (item.part.kind === "builtin-call") {
      writeBuiltin(eventsAtEnd({ ...item, part: item.part }));
    } else if (item.part.kind === "tool-call") {
      const kind = item.target?.kind ?? "function";
      if (kind === "custom") {
        write("response.custom_tool_call_input.done", `${place}"input":${text}`);
      } else if (kind === "function") {
        write("response.function_call_arguments.done", `${place}"arguments":${text}`);
      }
    } else if (item.part.kind !== "reasoning") {
      const members = `${place}"text":${text},"logprobs":${JSON.stringify(item.logprobs)}`;
      write("response.output_text.done", members);
    } else if (options.showReasoning) {
      write(`${reasoning}.done`, `${place}"text":${text}`);
    }
    if (hasContentPart(item)) {
      write("response.content_part.done", `${place}"part":${toPart(item)}`);
    }
    if (item.summary !== undefined) writeSummary(item, item.summary);
    const members = `"output_index":${item.index},"item":${JSON.stringify(done)}`;
    write("response.output_item.done", members);
  }

  /** The item is added at once. */
  function writeSummary({ id, index }: OpenItem, summary: string): void {
    const place = `"item_id":${JSON.stringify(id)},"output_index":${index},"summary_index":0`;
    const text = JSON.stringify(summary);
    const partOf = (content: string) => `${place},"part":{"type":"summary_text","text":${content}}`;
    write("response.reasoning_summary_part.added", partOf('""'));
    write("response.reasoning_summary_text.delta", `${place},"delta":${text}`);
    write("response.reasoning_summary_text.done", `${place},"text":${text}`);
    write("response.reasoning_summary_part.done", partOf(text));
  }

  function onWholeItem(item: CompactionItem | McpListItem, index: number): void {
    const place = `"output_index":${index}`;
    const begun = item.type === "mcp_list_tools" ? { ...item, tools: [], error: undefined } : item;
    write("response.output_item.added", `${place},"item":${JSON.stringify(begun)}`);
    for (const type of item.type === "mcp_list_tools" ? listEvents(item) : []) {
      write(type, `"item_id":${JSON.stringify(item.id)},${place}`);
    }
    write("response.output_item.done", `${place},"item":${JSON.stringify(item)}`);
  }

  function onEnd(status: string): void {
    hasEnded = true;
    lifecycle(status);
  }

  function onFailure(error: ResponsesError): void {
    // The last event was not sent, so its number is reused.
    if (hasEnded) sequence -= 1;
    write("error", JSON.stringify(toErrorMembers(error)).slice(1, -1));
    lifecycle("failed");
  }

  function lifecycle(name: string): void {
    write(`response.${name}`, `"response":${JSON.stringify(builder.response)}`);
  }

  /** `members` is JSON text without braces: most events differ from the last one in a single member. */
  function write(type: string, members: string): void {
    events.push({ type, json: `{"type":"${type}","sequence_number":${sequence++},${members}}` });
  }

  function deltaTypeOf({ part, target }: OpenItem): string | undefined {
    if (part.kind === "tool-call") return CALL_DELTAS[target?.kind ?? "function"];
    if (part.kind === "builtin-call") return builtinDeltaType(part);
    if (isMessage(part)) return "response.output_text.delta";
    return options.showReasoning ? `${reasoning}.delta` : undefined;
  }

  function hasContentPart({ part }: OpenItem): boolean {
    return !hasNoParts(part) && (part.kind !== "reasoning" || options.showReasoning);
  }
}

/** A search is reported as a whole. */
const CALL_DELTAS: Readonly<Record<CallTarget["kind"], string | undefined>> = {
  function: "response.function_call_arguments.delta",
  custom: "response.custom_tool_call_input.delta",
  "tool-search": undefined,
};

function toPart(item: OpenItem): string {
  const { part, text } = item;
  return JSON.stringify(
    part.kind === "reasoning" ? { type: "reasoning_text", text } : toOutputText(item),
  );
}

function hasNoParts({ kind }: OpenItem["part"]): boolean {
  return kind === "tool-call" || kind === "builtin-call";
}

/** The members of a call that are known when it begins. */
const NOTHING = { sources: false, results: false, outputs: false };
