/** Totals of the filtered turns, equal problems together, and turns by conversation. */
import { toOutcome, toStatus } from "./format.ts";
import type { KeyUse, Row } from "./types.ts";

export interface Totals {
  readonly turns: number;
  readonly failed: number;
  /** Requests rejected before a failure was possible, which count in no rate of failures. */
  readonly rejected: number;
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly completionTokens: number;
  /** Times in milliseconds. Null: no turn has one. */
  readonly firstToken: Percentiles;
  readonly duration: Percentiles;
  /** Tokens of the ended turns, by the seconds between first token and end. */
  readonly tokensPerSecond: number | null;
}

export interface Percentiles {
  readonly p50: number | null;
  readonly p95: number | null;
}

export function toTotals(rows: readonly Row[]): Totals {
  const sum = (of: (row: Row) => number | null, among = rows): number =>
    among.reduce((total, row) => total + (of(row) ?? 0), 0);
  const written = rows.filter(
    ({ ms, firstTokenMs, completionTokens }) =>
      ms !== null && firstTokenMs !== null && completionTokens !== null && ms > firstTokenMs,
  );
  const seconds = sum(({ ms, firstTokenMs }) => ((ms ?? 0) - (firstTokenMs ?? 0)) / 1000, written);
  const tokens = sum(({ completionTokens }) => completionTokens, written);
  return {
    turns: rows.length,
    failed: rows.filter((row) => toOutcome(row).tone === "bad").length,
    rejected: rows.filter((row) => toStatus(row) === "rejected").length,
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

/** Turns with errors of one reason. */
export interface Problem {
  readonly status: "error" | "rejected" | "cut";
  readonly text: string;
  readonly count: number;
  readonly keys: readonly string[];
  /** The newest turn with this problem. */
  readonly newest: Row;
}

const ORDER = ["error", "rejected", "cut"] as const;

/** Problems: failures first, then the most frequent. */
export function toProblems(rows: readonly Row[]): Problem[] {
  const bad = rows.filter((row) => ["bad", "warn"].includes(toOutcome(row).tone));
  // A failure and a rejection may have equal reasons.
  const alike = Map.groupBy(bad, (row) => `${toStatus(row)} ${textOf(row)}`);
  return Array.from(alike.values(), (same) => {
    const newest = newestOf(same);
    return {
      status: ORDER.find((each) => each === toStatus(newest)) ?? "error",
      text: textOf(newest),
      count: same.length,
      keys: [...new Set(same.map(({ tenant }) => tenant))],
      newest,
    };
  }).toSorted(
    (a, b) =>
      ORDER.indexOf(a.status) - ORDER.indexOf(b.status) ||
      b.count - a.count ||
      b.newest.number - a.newest.number,
  );
}

function textOf(row: Row): string {
  return row.problem ?? toOutcome(row).word;
}

function newestOf(rows: readonly Row[]): Row {
  return rows.reduce((newest, row) => (row.number > newest.number ? row : newest));
}

/** Maximum clients that are listed for a key. */
const MAX_CLIENTS = 4;

/** The keys with their turns, in the form of the audit file. The key with the most turns is first. */
export function toKeys(rows: readonly Row[]): KeyUse[] {
  const byKey = Map.groupBy(rows, ({ tenant }) => tenant);
  return Array.from(byKey, ([key, own]): KeyUse => {
    const { turns, failed, promptTokens, completionTokens, duration } = toTotals(own);
    return {
      key,
      clients: [...new Set(own.flatMap(({ client }) => client ?? []))].slice(0, MAX_CLIENTS),
      requests: turns,
      failed,
      promptTokens,
      completionTokens,
      p95: duration.p95,
      at: newestOf(own).at,
    };
  }).toSorted((a, b) => b.requests - a.requests || (a.at < b.at ? 1 : -1));
}

/** Conversations by their newest turn, each with its turns, newest first. A turn without a conversation is a separate group. */
export function toConversations(rows: readonly Row[]): Row[][] {
  const groups = Map.groupBy(rows, ({ conversation, number, tenant }) =>
    conversation === null ? `turn ${number}` : `${tenant} ${conversation.id}`,
  );
  return [...groups.values()];
}
