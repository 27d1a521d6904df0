/** The HTTP exchange of a record: a client's request, and the answer. */
import { textBytes } from "../../harmony/text-memory.ts";
import { RESPONSE_HEADERS } from "../response-headers.ts";
import type { Elapsed } from "./recording.ts";
import type { RecordBudget } from "./limits.ts";
import type { TurnRecord } from "./schema.ts";
import { withoutToolCredentials } from "./tool-credentials.ts";

export type RecordedApi = TurnRecord["api"];

export interface ExchangeRequest {
  readonly id: string;
  readonly api: RecordedApi;
  readonly tenant: string;
  readonly reasoningPolicy: string;
  /** The content of the exchange is not kept. */
  readonly isPrivate?: boolean | undefined;
  readonly method: string;
  readonly path: string;
  readonly headers: Headers;
  readonly body: string;
}

/** Request headers that are kept, because they identify the client's software and the conversation. */
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
  "x-harmony-fork-of",
  "x-request-id",
  "x-session-id",
  "x-stainless-lang",
  "x-stainless-package-version",
  "x-stainless-runtime",
  "x-title",
];

/** Response headers that are kept. */
const KEPT_ANSWER_HEADERS = ["content-type", ...RESPONSE_HEADERS];

/** The accepted form of `x-request-id`. */
const TURN_ID = /^[\w.:-]{1,128}$/;

/** Maximum length of a header value. */
const MAX_HEADER_LENGTH = 512;

export interface ExchangeDeps {
  readonly budget: RecordBudget;
  readonly elapsed: Elapsed;
}

/** A server-sent event, or a message of a WebSocket. */
export interface TimedText {
  /** Milliseconds since the request was accepted. */
  readonly ms: number;
  readonly text: string;
}

/** Estimated size of an event without its text, in bytes. */
const EVENT_BYTES = 96;

export class Exchange {
  /** Events as they were sent. */
  readonly events: TimedText[] = [];
  readonly #elapsed: Elapsed;
  readonly id: string;
  readonly api: RecordedApi;
  readonly tenant: string;
  readonly reasoningPolicy: string;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The body. Empty: it cannot be kept. */
  readonly body: string;
  readonly at: Date;
  status: number | undefined;
  answerHeaders: Readonly<Record<string, string>> = {};
  /** The id of the turn from which the request was made, as sent by the client. */
  readonly forkedFrom: string | undefined;
  answerBody: string | undefined;
  /** The reason why the request was refused before any turn. */
  error: string | undefined;
  /** Whether any data was sent to the client, kept or not. */
  hasAnswer = false;
  /** The answer is complete. */
  hasEnded = false;
  readonly budget: RecordBudget;

  constructor(request: ExchangeRequest, at: Date, deps: ExchangeDeps) {
    this.#elapsed = deps.elapsed;
    this.id = request.id;
    this.api = request.api;
    this.tenant = request.tenant;
    this.reasoningPolicy = request.reasoningPolicy;
    this.method = request.method;
    this.path = request.path;
    this.headers = pick(request.headers, KEPT_HEADERS);
    const { "x-harmony-fork-of": fork = "" } = this.headers;
    this.forkedFrom = TURN_ID.test(fork) ? fork : undefined;
    this.at = at;
    this.budget = deps.budget;
    this.body = this.#toKept(request.body);
  }

  /** Reserves room before the search for credentials, so that the search is bounded too. */
  #toKept(body: string): string {
    if (!this.budget.take(textBytes(body), "request body", body.length)) return "";
    const kept = withoutToolCredentials(body);
    if (kept === undefined) this.budget.leaveOut("request body", body.length);
    return kept ?? "";
  }

  /** Notes the head of the answer. */
  respond(status: number, headers: Headers): void {
    this.status = status;
    this.answerHeaders = pick(headers, KEPT_ANSWER_HEADERS);
  }

  respondWith(body: string): void {
    this.hasAnswer = true;
    if (this.budget.take(textBytes(body), "answer", body.length)) this.answerBody = body;
  }

  /** Notes events that are written together. */
  noteEvents(text: string): void {
    this.hasAnswer = true;
    const bytes = EVENT_BYTES + textBytes(text);
    if (this.budget.take(bytes, "events", 1)) this.events.push({ ms: this.#elapsed(), text });
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
