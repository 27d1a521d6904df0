/** The HTTP exchange of a record: a client's request, and the answer. */
import type { ExchangeClock } from "./exchange-clock.ts";
import type { EventForm } from "./event-form.ts";
import type { Journal } from "./journal.ts";
import type { JournalEntries, TextSink } from "./journal-entries.ts";
import type { RecordBudget } from "./limits.ts";
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
  readonly journal: Journal;
  readonly clock: ExchangeClock;
  readonly allocate: TextLogOptions["allocate"];
}

export class Exchange implements TextSink {
  form: EventForm | undefined;
  readonly journal: Journal;
  readonly row: number;
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
    this.journal = deps.journal;
    this.row = deps.journal.openExchange(this, deps.clock.start);
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

  /** The client is slow: the next write is later than the read that caused it. */
  noteWaiting(): void {
    this.journal.pass(this.row);
  }

  /** Notes events as they are written; one read may cause several in one write. */
  noteEvents(text: string): void {
    this.journal.text(this.row, this, text);
  }

  /**
   * Announces that the next event has this form, this text as JSON and this length, or contains an event that has. Returns the
   * form's number in the journal, for further events.
   */
  noteForm(form: EventForm, text: string, json: string, eventLength: number): number {
    return this.journal.announce(this.row, this, form, text, json, eventLength);
  }

  /** Takes what the journal has of the exchange. */
  flush(): void {
    this.journal.flush(this.row);
  }

  /** The answer has ended. */
  close(): void {
    this.journal.closeExchange(this.row);
  }

  takeForm(form: EventForm): boolean {
    const hasRoom = this.events.useForm(form);
    this.form = this.events.form;
    return hasRoom;
  }

  takeTexts(entries: JournalEntries, first: number, end: number, character: number): void {
    const { events } = this;
    const left = events.addEntries(entries, first, end, character);
    if (left > 0) this.budget.leaveOut("events", left);
    this.form = events.form;
  }

  takeText(text: string, at: number): void {
    if (!this.events.add(text, this.#clock.since(at))) this.budget.leaveOut("events", 1);
    this.form = this.events.form;
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
