/**
 * One line for each request, when its response has ended. The line of an answer joins two log entries with the same id: `turn`
 * with the tokens, and `request` with the client.
 */
import type { LogFields } from "../../telemetry/log.ts";
import type { RecordedApi } from "../../telemetry/record/exchange.ts";
import { type Paint, toWord } from "./paint.ts";

/** Maximum turns whose request has not ended yet. */
const MAX_WAITING = 1_000;

/** Terminal width that shows all columns. Narrower terminals lose some. */
const ALL_COLUMNS = 100;
const SPEED_COLUMNS = 80;

const APIS: Readonly<Record<RecordedApi, { readonly route: RegExp; readonly name: string }>> = {
  "chat-completions": { route: /\/chat\/completions$/, name: "chat" },
  responses: { route: /\/responses$/, name: "responses" },
  messages: { route: /\/messages$/, name: "messages" },
};

export class AnswerLines {
  readonly #painted: Paint;
  readonly #columns: () => number;
  /** Turns by the id of their request, oldest first. */
  readonly #turns = new Map<string, LogFields>();
  /** Requests that ended before their turn: background responses. */
  readonly #ended = new Map<string, LogFields>();
  readonly #totals = { turns: 0, tokensIn: 0, tokensOut: 0, failed: 0 };

  constructor(painted: Paint, columns: () => number) {
    this.#painted = painted;
    this.#columns = columns;
  }

  /** The line of a turn that has ended after its request; otherwise empty. */
  turn(fields: LogFields): string {
    this.#totals.turns += 1;
    this.#totals.tokensIn += toNumber(fields["promptTokens"]);
    this.#totals.tokensOut += toNumber(fields["completionTokens"]);
    if (fields["finish"] === "failed") this.#totals.failed += 1;
    const id = String(fields["id"]);
    const request = this.#ended.get(id);
    if (request === undefined) {
      keep(this.#turns, id, fields);
      return "";
    }
    this.#ended.delete(id);
    return this.#toAnswer(request, fields);
  }

  request(fields: LogFields): string {
    const id = String(fields["id"]);
    const turn = this.#turns.get(id);
    this.#turns.delete(id);
    if (turn !== undefined && turn["finish"] !== "failed") return this.#toAnswer(fields, turn);
    if (apiOf(fields["route"]) !== undefined && fields["status"] === 200) {
      keep(this.#ended, id, fields);
    }
    return this.#toRequest(fields);
  }

  /** `41 turns · 1.2 M tokens in · 88 k out · 1 failed`. Undefined: no request was served. */
  totals(): string | undefined {
    const { turns, tokensIn, tokensOut, failed } = this.#totals;
    if (turns === 0) return undefined;
    return [
      `${turns.toLocaleString("en-US")} ${turns === 1 ? "turn" : "turns"}`,
      `${toShort(tokensIn)} tokens in`,
      `${toShort(tokensOut)} out`,
      ...(failed > 0 ? [`${failed} failed`] : []),
    ].join(" · ");
  }

  #toAnswer(request: LogFields, turn: LogFields): string {
    const { ms, sentMs, clientLeft, status, route } = request;
    const hasLeft = clientLeft === true || status === 499;
    const first = toNumber(turn["firstTokenSeconds"]);
    const seconds = Math.max(toNumber(sentMs ?? ms) / 1000, toNumber(turn["seconds"]));
    const written = toNumber(turn["completionTokens"]);
    const speed = seconds > first ? `${Math.round(written / (seconds - first))} tok/s` : "";
    const columns = this.#columns();
    const tokens = `${toShort(toNumber(turn["promptTokens"]))} → ${toShort(written)}`;
    const cells = [
      hasLeft ? this.#painted("yellow", "left") : this.#toStatus(status),
      (apiOf(route) ?? toWord(route)).padEnd(hasLeft ? 8 : 9),
      toClient(request).padEnd(16),
      (turn["promptTokens"] === undefined ? "" : tokens).padEnd(11),
      ...(columns >= ALL_COLUMNS ? [`first ${toSpan(first)}`.padEnd(12)] : []),
      toSpan(seconds).padStart(6),
      ...(columns >= SPEED_COLUMNS && !hasLeft ? [speed.padEnd(9)] : []),
      hasLeft ? "client disconnected" : toNotes(turn),
    ];
    return cells.join("  ").trimEnd();
  }

  /** `400  chat       alice · openai-python   12 ms  model: there is no model of this name` */
  #toRequest(request: LogFields): string {
    const { status, route, method, ms, sentMs, reason } = request;
    const hasLeft = status === 499 || request["clientLeft"] === true;
    const cells = [
      hasLeft ? this.#painted("yellow", "left") : this.#toStatus(status),
      apiOf(route)?.padEnd(hasLeft ? 8 : 9) ?? `${toWord(method)} ${toWord(route)}`,
      ...(toClient(request) === "" ? [] : [toClient(request).padEnd(16)]),
      this.#painted("dim", toSpan(toNumber(sentMs ?? ms) / 1000)),
      ...(reason === undefined ? [] : [toWord(reason)]),
      ...(hasLeft ? ["client disconnected"] : []),
    ];
    return cells.join("  ");
  }

  #toStatus(status: unknown): string {
    const code = Number(status);
    return this.#painted(code < 400 ? "green" : code < 500 ? "yellow" : "red", String(code));
  }
}

/** Stores an entry and removes the oldest one: a turn may have no request, as over a WebSocket. */
function keep(entries: Map<string, LogFields>, id: string, fields: LogFields): void {
  entries.set(id, fields);
  if (entries.size <= MAX_WAITING) return;
  const [oldest] = entries.keys();
  if (oldest !== undefined) entries.delete(oldest);
}

function apiOf(route: unknown): string | undefined {
  if (typeof route !== "string") return undefined;
  return Object.values(APIS).find((api) => api.route.test(route))?.name;
}

/** `alice · codex`. Without the tenant if the gateway has no keys. */
function toClient({ tenant, client }: LogFields): string {
  const names = [tenant === "anonymous" ? undefined : tenant, client];
  return names.flatMap((name) => (typeof name === "string" ? [toWord(name)] : [])).join(" · ");
}

function toNotes({ calls, finish, recoveries, cachedTokens }: LogFields): string {
  return [
    ...(Array.isArray(calls) ? [`⚙ ${calls.map((name) => toWord(name)).join(", ")}`] : []),
    ...(finish === "length" ? ["cut at limit"] : []),
    ...(recoveries === undefined ? [] : ["repaired"]),
    ...(toNumber(cachedTokens) > 0 ? [`${toShort(toNumber(cachedTokens))} cached`] : []),
  ].join("  ");
}

function toNumber(value: unknown): number {
  return typeof value === "number" ? value : 0;
}

/** `21 ms`, `0.6 s`, `41 s`. */
function toSpan(seconds: number): string {
  if (seconds < 0.1) return `${Math.round(seconds * 1000)} ms`;
  return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
}

/** `412`, `9.8k`, `131k`, `1.2M`. */
function toShort(count: number): string {
  if (count < 1000) return String(count);
  const inMillions = count >= 999_500;
  const value = count / (inMillions ? 1_000_000 : 1000);
  return `${value.toFixed(value < 99.95 ? 1 : 0)}${inMillions ? "M" : "k"}`;
}
