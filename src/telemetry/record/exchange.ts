/** The HTTP exchange of a record: a client's request, and the answer. */
import { MOST_NOTES } from "../../turn/token-notes.ts";
import type { ExchangeClock } from "./exchange-clock.ts";
import type { EventForm } from "./event-form.ts";
import type { RecordBudget } from "./limits.ts";
import type { ReadLog } from "./read-log.ts";
import { TextLog, type TextLogOptions } from "./text-log.ts";
import { withoutToolKeys } from "./tool-keys.ts";

export type RecordedApi = "chat-completions" | "responses" | "messages";

export interface ExchangeRequest {
  readonly id: string;
  readonly api: RecordedApi;
  readonly tenant: string;
  readonly reasoningPolicy: string;
  readonly method: string;
  readonly path: string;
  readonly headers: Headers;
  readonly body: string;
}

/** Request headers that are kept: they identify the client's software and the conversation. */
const KEPT_HEADERS = [
  "accept",
  "anthropic-beta",
  "anthropic-version",
  "content-type",
  "http-referer",
  "openai-beta",
  "originator",
  "user-agent",
  "x-claude-code-session-id",
  "x-request-id",
  "x-session-id",
  "x-stainless-lang",
  "x-stainless-package-version",
  "x-stainless-runtime",
  "x-title",
];

/** Response headers that are kept. */
const KEPT_ANSWER_HEADERS = [
  "content-type",
  "retry-after",
  "x-generation-id",
  "x-harmony-cot",
  "x-harmony-reasoning-effort",
  "x-harmony-skipped",
  "x-harmony-skipped-items",
  "x-harmony-skipped-tools",
  "x-harmony-unenforced-tools",
  "x-request-id",
];

/** Longest header value that is kept. */
const MAX_HEADER_LENGTH = 512;

export interface ExchangeDeps {
  readonly budget: RecordBudget;
  readonly clock: ExchangeClock;
  readonly allocate: TextLogOptions["allocate"];
}

/** Who notes reads whose frames are counted. An exchange has one at most. */
export interface RunReader {
  /** Notes the run as far as it has come. */
  flush(): void;
}

export class Exchange {
  /**
   * The number that the next read has whose frame is only counted. Reads that are told of together later get successive numbers, so
   * that the frames of a run are known by how far this has come.
   */
  #sent = { next: MOST_NOTES };
  /** The number of the run's first read. */
  #first = MOST_NOTES;
  #reader: RunReader | undefined;
  /** Of frames that are the text of a read. */
  #form: EventForm | undefined;
  readonly #clock: ExchangeClock;
  readonly events: TextLog;
  readonly id: string;
  readonly api: RecordedApi;
  readonly tenant: string;
  readonly reasoningPolicy: string;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Empty if it was too long to be kept. */
  readonly body: string;
  readonly at: Date;
  status: number | undefined;
  answerHeaders: Readonly<Record<string, string>> = {};
  answerBody: string | undefined;
  /** Why the request was refused before any turn. */
  error: string | undefined;
  readonly budget: RecordBudget;

  constructor(request: ExchangeRequest, at: Date, deps: ExchangeDeps) {
    const { budget, allocate } = deps;
    this.events = new TextLog({ take: (bytes) => budget.take(bytes, "events", 0), allocate });
    this.#clock = deps.clock;
    this.id = request.id;
    this.api = request.api;
    this.tenant = request.tenant;
    this.reasoningPolicy = request.reasoningPolicy;
    this.method = request.method;
    this.path = request.path;
    this.headers = pick(request.headers, KEPT_HEADERS);
    const body = withoutToolKeys(request.body);
    this.body = budget.take(body.length * 2, "request body", body.length) ? body : "";
    this.at = at;
    this.budget = budget;
  }

  /** The head of the answer. */
  respond(status: number, headers: Headers): void {
    this.status = status;
    this.answerHeaders = pick(headers, KEPT_ANSWER_HEADERS);
  }

  respondWith(body: string): void {
    if (this.budget.take(body.length * 2, "answer", body.length)) this.answerBody = body;
  }

  /** Frames are counted there from now on. */
  countIn(hints: { next: number }): void {
    hints.next = this.#sent.next;
    this.#sent = hints;
  }

  /** Notes events as they are written; one read may cause several in one write. */
  noteEvents(text: string): void {
    // In order.
    if (this.#sent.next !== this.#first) this.#reader?.flush();
    if (!this.events.add(text, this.#clock.recent())) this.budget.leaveOut("events", 1);
  }

  /** Further frames of numbered reads have this form, with the text of the read as JSON. */
  noteForm(form: EventForm): void {
    if (this.#sent.next !== this.#first) this.#reader?.flush();
    this.#form = form;
    this.events.useForm(form);
  }

  /** Returns the number of the next read. Those that follow have the next ones, until {@link noteRun}. */
  beginRun(reader: RunReader): number {
    this.#reader = reader;
    return this.#first;
  }

  /** Notes frames that were counted since {@link beginRun}. @param from position of the first id; -1: not all are kept */
  noteRun(reads: ReadLog | undefined, from = -1): void {
    const count = this.#sent.next - this.#first;
    // A frame of this run that is written only later is like any other.
    this.#first = this.#sent.next + MOST_NOTES;
    this.#sent.next = this.#first;
    const form = this.#form;
    if (count === 0 || form === undefined) return;
    const isKept =
      reads !== undefined &&
      from >= 0 &&
      (this.events.form === form || (!form.isNumbered && this.events.useForm(form))) &&
      this.events.addRun(reads, from, count);
    if (!isKept) this.budget.leaveOut("events", count);
  }
}

function pick(headers: Headers, names: readonly string[]): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const name of names) {
    const value = headers.get(name);
    if (value !== null) kept[name] = value.slice(0, MAX_HEADER_LENGTH);
  }
  return kept;
}
