/**
 * A strict client: it assembles the response from the events and throws when one of them contradicts those before it.
 */
import { isDeepStrictEqual } from "node:util";
import {
  openAiEvent,
  openResponsesEvent,
  type OutputItem,
  type ResponseObject,
  type StreamEvent,
} from "./schemas.ts";

type EventOf<T extends StreamEvent["type"]> = Extract<StreamEvent, { type: T }>;

const TERMINAL = new Set(["response.completed", "response.incomplete", "response.failed"]);

/** The response at the end of a stream whose events have all been checked. */
export function consume(
  events: readonly unknown[],
  dialect: "reasoning_text" | "reasoning" = "reasoning_text",
): ResponseObject {
  const schema = dialect === "reasoning" ? openResponsesEvent : openAiEvent;
  const consumer = new Consumer();
  for (const event of events) consumer.take(schema.parse(event));
  return consumer.end();
}

class Consumer {
  #sequence = 0;
  #created: ResponseObject | undefined;
  #isQueued = false;
  #isRunning = false;
  #final: ResponseObject | undefined;
  #hasError = false;
  readonly #done: OutputItem[] = [];
  #open: OutputItem | undefined;
  /** The text of the open item: of its part, or of its arguments. */
  #text = "";
  /** The end of the text was reported. */
  #isTextDone = false;
  /** undefined: not begun. */
  #isPartOpen: boolean | undefined;
  #deltaLogprobs: unknown[] = [];
  readonly #ids = new Set<string>();

  take(event: StreamEvent): void {
    check(event.sequence_number === this.#sequence++, "sequence numbers rise by one", event);
    check(this.#final === undefined, "nothing follows the terminal event", event);
    check(this.#sequence > 1 === (event.type !== "response.created"), "created comes first", event);
    if (this.#hasError) check(event.type === "response.failed", "failed follows error", event);
    switch (event.type) {
      case "response.created":
        check(event.response.output.length === 0, "created has no output", event);
        this.#created = event.response;
        break;
      case "response.queued":
        check(this.#created?.status === "queued" && !this.#isRunning, "queued in order", event);
        check(event.response.status === "queued", "queued says so", event);
        this.#isQueued = true;
        break;
      case "response.in_progress":
        // A repeated event is a keep-alive.
        check(event.response.output.length === 0, "in_progress has no output", event);
        check(event.response.status === "in_progress", "in_progress says so", event);
        this.#isRunning = true;
        break;
      case "response.completed":
      case "response.incomplete":
      case "response.failed":
        this.#finish(event);
        break;
      case "error":
        this.#hasError = true;
        check(event.message === event.error.message, "both forms of an error agree", event);
        check(event.code === event.error.code, "both forms of an error agree", event);
        check(event.param === event.error.param, "both forms of an error agree", event);
        break;
      case "response.output_item.added":
        this.#add(event);
        break;
      case "response.output_item.done":
        this.#close(event);
        break;
      default:
        this.#within(event);
    }
  }

  end(): ResponseObject {
    if (this.#final === undefined) throw new Error("the stream ends with a terminal event");
    return this.#final;
  }

  #add(event: EventOf<"response.output_item.added">): void {
    const { item, output_index: place } = event;
    check(this.#isRunning, "items come after in_progress", event);
    check(this.#open === undefined, "items come strictly one after the other", event);
    check(place === this.#done.length, "items are appended", event);
    if (item.type !== "compaction") {
      check(item.status === "in_progress", "an item begins in progress", event);
    }
    check(!this.#ids.has(item.id), "ids are used once", event);
    if ("call_id" in item) {
      check(textOf(item) === "", "a call begins without arguments", event);
      check(item.id !== item.call_id && !this.#ids.has(item.call_id), "call ids are new", event);
      this.#ids.add(item.call_id);
    } else if (item.type !== "compaction") {
      check(item.content.length === 0, "content is added part by part", event);
    }
    this.#ids.add(item.id);
    this.#open = item;
    this.#text = "";
    this.#isTextDone = false;
    this.#isPartOpen = undefined;
    this.#deltaLogprobs = [];
  }

  #within(
    event: Exclude<StreamEvent, { response: unknown } | { item: unknown } | { type: "error" }>,
  ): void {
    const open = this.#open;
    check(open?.id === event.item_id, "an event is about the open item", event);
    check(event.output_index === this.#done.length, "an event is about the open item", event);
    if ("content_index" in event) check(event.content_index === 0, "items have one part", event);
    if ("summary_index" in event) {
      check(open?.type === "reasoning", "only reasoning is summarized", event);
      return;
    }
    const kind = ITEM_TYPES[event.type];
    if (kind !== undefined) check(open?.type === kind, "an event fits its item", event);
    switch (event.type) {
      case "response.content_part.added":
        check(this.#isPartOpen === undefined, "a part begins once", event);
        check(event.part.text === "", "a part begins empty", event);
        check(event.part.type === PART_TYPES[open?.type ?? ""], "a part fits its item", event);
        this.#isPartOpen = true;
        break;
      case "response.content_part.done":
        check(this.#isPartOpen === true && this.#isTextDone, "a part ends after its text", event);
        check(event.part.text === this.#text, "a part has all of its text", event);
        this.#isPartOpen = false;
        break;
      case "response.output_text.delta":
        this.#deltaLogprobs.push(...event.logprobs);
        this.#delta(event, event.delta, true);
        break;
      case "response.reasoning_text.delta":
      case "response.reasoning.delta":
        this.#delta(event, event.delta, true);
        break;
      case "response.function_call_arguments.delta":
      case "response.custom_tool_call_input.delta":
        this.#delta(event, event.delta, false);
        break;
      case "response.output_text.done":
        check(isDeepStrictEqual(event.logprobs, this.#deltaLogprobs), "logprobs add up", event);
        this.#textDone(event, event.text);
        break;
      case "response.reasoning_text.done":
      case "response.reasoning.done":
        this.#textDone(event, event.text);
        break;
      case "response.function_call_arguments.done":
        this.#textDone(event, event.arguments);
        break;
      case "response.custom_tool_call_input.done":
        this.#textDone(event, event.input);
        break;
      default:
        event satisfies never;
    }
  }

  #delta(event: StreamEvent, delta: string, inPart: boolean): void {
    check(!inPart || this.#isPartOpen === true, "deltas stand in their part", event);
    check(!this.#isTextDone, "no delta follows the whole text", event);
    check(delta !== "", "a delta says something", event);
    this.#text += delta;
  }

  #textDone(event: StreamEvent, text: string): void {
    check(!this.#isTextDone && this.#isPartOpen !== false, "a text is over once", event);
    check(text === this.#text, "the whole text is its deltas", event);
    this.#isTextDone = true;
  }

  #close(event: EventOf<"response.output_item.done">): void {
    const { item } = event;
    const open = this.#open;
    check(open?.id === item.id && open.type === item.type, "the open item is closed", event);
    check(event.output_index === this.#done.length, "the open item is closed", event);
    check(item.status !== "in_progress", "a closed item has an outcome", event);
    check(this.#isPartOpen !== true, "parts end before their item", event);
    check(
      this.#done.every((each) => (each.status ?? "completed") === "completed"),
      "only the last is cut",
      event,
    );
    check(textOf(item) === this.#text, "a closed item has all of its text", event);
    if ("call_id" in item && open !== undefined && "call_id" in open) {
      const isWhole = item.type === "tool_search_call" || this.#isTextDone;
      check(isWhole, "arguments are over before their call", event);
      check(open.call_id === item.call_id, "call ids stay", event);
      check(nameOf(open) === nameOf(item), "names stay", event);
    }
    this.#open = undefined;
    this.#done.push(item);
  }

  #finish(event: EventOf<"response.completed" | "response.incomplete" | "response.failed">): void {
    const { response } = event;
    check(TERMINAL.has(`response.${response.status}`), "a terminal status", event);
    check(event.type === `response.${response.status}`, "type and status agree", event);
    check(response.id === this.#created?.id, "the response's id stays", event);
    check(this.#isQueued === (this.#created?.status === "queued"), "queued is announced", event);
    check(isDeepStrictEqual(response.output, this.#done), "the output is what was closed", event);
    const last = this.#done.at(-1);
    const isFailed = response.status === "failed";
    check(isFailed === this.#hasError, "error and failed come together", event);
    check(isFailed === (response.error !== null), "failed says why", event);
    check(isFailed || this.#open === undefined, "every item is closed", event);
    check(
      last?.status !== "incomplete" || response.status === "incomplete",
      "a cut item cuts its response",
      event,
    );
    check(
      (response.status === "incomplete") === (response.incomplete_details !== null),
      "incomplete says why",
      event,
    );
    check((response.status === "completed") === (response.completed_at !== null), "times", event);
    check(isFailed || response.usage !== null, "usage is counted", event);
    this.#final = response;
  }
}

const ITEM_TYPES: Readonly<Record<string, OutputItem["type"]>> = {
  "response.output_text.delta": "message",
  "response.output_text.done": "message",
  "response.reasoning_text.delta": "reasoning",
  "response.reasoning_text.done": "reasoning",
  "response.reasoning.delta": "reasoning",
  "response.reasoning.done": "reasoning",
  "response.function_call_arguments.delta": "function_call",
  "response.function_call_arguments.done": "function_call",
  "response.custom_tool_call_input.delta": "custom_tool_call",
  "response.custom_tool_call_input.done": "custom_tool_call",
};

const PART_TYPES: Readonly<Record<string, string>> = {
  message: "output_text",
  reasoning: "reasoning_text",
};

function textOf(item: OutputItem): string {
  switch (item.type) {
    case "function_call":
      return item.arguments;
    case "custom_tool_call":
      return item.input;
    case "tool_search_call":
    case "compaction":
      return "";
    case "message":
    case "reasoning":
      return item.content.map((part) => part.text).join("");
    default:
      return item satisfies never;
  }
}

function nameOf(item: OutputItem): string {
  return "name" in item ? `${item.namespace ?? ""}.${item.name}` : item.type;
}

function check(holds: boolean, rule: string, event: StreamEvent): void {
  if (!holds) throw new Error(`${rule}: ${JSON.stringify(event)}`);
}
