/** Numbers over the turns that pass the filter, equal problems together, and turns by conversation. */
import { toOutcome, toStatus } from "./format.ts";
import type { Row } from "./types.ts";

export interface Totals {
  readonly turns: number;
  readonly failed: number;
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly completionTokens: number;
  /** Milliseconds; null without a turn that has one. */
  readonly firstToken: Percentiles;
  readonly duration: Percentiles;
  /** Of the turns that have ended: tokens by the seconds between first token and end. */
  readonly tokensPerSecond: number | null;
}

export interface Percentiles {
  readonly p50: number | null;
  readonly p95: number | null;
}

export function toTotals(rows: readonly Row[]): Totals {
  const sum = (of: (row: Row) => number | null): number =>
    rows.reduce((total, row) => total + (of(row) ?? 0), 0);
  const written = rows.filter(
    ({ ms, firstTokenMs, completionTokens }) =>
      ms !== null && firstTokenMs !== null && completionTokens !== null && ms > firstTokenMs,
  );
  const seconds = written.reduce(
    (total, { ms, firstTokenMs }) => total + ((ms ?? 0) - (firstTokenMs ?? 0)) / 1000,
    0,
  );
  const tokens = written.reduce(
    (total, { completionTokens }) => total + (completionTokens ?? 0),
    0,
  );
  return {
    turns: rows.length,
    failed: rows.filter((row) => toOutcome(row).tone === "bad").length,
    promptTokens: sum(({ promptTokens }) => promptTokens),
    cachedTokens: sum(({ cachedTokens }) => cachedTokens),
    completionTokens: sum(({ completionTokens }) => completionTokens),
    firstToken: toPercentiles(rows.map(({ firstTokenMs }) => firstTokenMs)),
    duration: toPercentiles(rows.map(({ ms }) => ms)),
    tokensPerSecond: seconds > 0 ? tokens / seconds : null,
  };
}

function toPercentiles(values: readonly (number | null)[]): Percentiles {
  const sorted = values.filter((value) => value !== null).toSorted((a, b) => a - b);
  const at = (share: number): number | null =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? null;
  return { p50: at(0.5), p95: at(0.95) };
}

/** Turns that ended badly for one reason. */
export interface Problem {
  readonly status: "error" | "rejected" | "cut";
  readonly text: string;
  readonly count: number;
  readonly keys: readonly string[];
  /** The newest turn with it. */
  readonly newest: Row;
}

const ORDER = ["error", "rejected", "cut"] as const;

/** Failures first, then the commonest. */
export function toProblems(rows: readonly Row[]): Problem[] {
  const byText = new Map<string, [Row, ...Row[]]>();
  for (const row of rows) {
    const { tone, word } = toOutcome(row);
    if (tone !== "bad" && tone !== "warn") continue;
    // A failure and a rejection may have the same reason.
    const text = `${toStatus(row)} ${row.problem ?? word}`;
    const same = byText.get(text);
    if (same === undefined) byText.set(text, [row]);
    else same.push(row);
  }
  return Array.from(byText.values(), (same) => ({
    status: ORDER.find((each) => each === toStatus(same[0])) ?? "error",
    text: same[0].problem ?? toOutcome(same[0]).word,
    count: same.length,
    keys: [...new Set(same.map(({ tenant }) => tenant))],
    newest: same.reduce((newest, row) => (row.number > newest.number ? row : newest)),
  })).toSorted(
    (a, b) =>
      ORDER.indexOf(a.status) - ORDER.indexOf(b.status) ||
      b.count - a.count ||
      b.newest.number - a.newest.number,
  );
}

/** The turns of one key. */
export interface KeyTotals {
  readonly key: string;
  readonly clients: readonly string[];
  readonly totals: Totals;
  readonly newest: Row;
}

/** Names of clients that are listed of a key. */
const MAX_CLIENTS = 4;

/** The key with the most turns first. */
export function toKeys(rows: readonly Row[]): KeyTotals[] {
  const byKey = new Map<string, [Row, ...Row[]]>();
  for (const row of rows) {
    const own = byKey.get(row.tenant);
    if (own === undefined) byKey.set(row.tenant, [row]);
    else own.push(row);
  }
  return Array.from(byKey, ([key, own]) => ({
    key,
    clients: [...new Set(own.flatMap(({ client }) => client ?? []))].slice(0, MAX_CLIENTS),
    totals: toTotals(own),
    newest: own.reduce((newest, row) => (row.number > newest.number ? row : newest)),
  })).toSorted((a, b) => b.totals.turns - a.totals.turns || b.newest.number - a.newest.number);
}

/** Conversations by their newest turn, each with its turns, newest first. Turns without one stand alone. */
export function toConversations(rows: readonly Row[]): Row[][] {
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    const { conversation } = row;
    const name = conversation === null ? `turn ${row.number}` : `${row.tenant} ${conversation.id}`;
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [row]);
    else group.push(row);
  }
  return [...groups.values()];
}
