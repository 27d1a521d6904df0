/**
 * The filter of the list, as typed: `key:alice status:error >5s paris`. The URL contains it as parameters, so that Back works and
 * a link can be shared.
 */
import { chipsOf, toStatus } from "./format.ts";
import type { Row } from "./types.ts";

/** Fields with a word, and the compared values of a turn. */
const FIELDS = {
  key: (row) => [row.tenant],
  client: (row) => [row.client ?? ""],
  model: (row) => [row.model],
  backend: (row) => [row.backend ?? ""],
  tool: (row) => row.calls,
  conversation: (row) => [row.conversation?.id ?? ""],
  status: (row) => [toStatus(row), String(row.status ?? "")],
  is: (row) => chipsOf(row).map(({ name }) => name),
} satisfies Record<string, (row: Row) => readonly string[]>;

export type Field = keyof typeof FIELDS;

export interface Filter {
  readonly fields: readonly (readonly [Field, string])[];
  /** Duration that a turn must exceed, in milliseconds. */
  readonly slowerThan: number | undefined;
  /** Maximum age of a turn, in milliseconds. */
  readonly since: number | undefined;
  /** Words that must all occur in the turn. */
  readonly words: readonly string[];
}

const DURATION = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/;
const UNITS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 } as const;

export function parseFilter(text: string): Filter {
  const fields: (readonly [Field, string])[] = [];
  const words: string[] = [];
  let slowerThan: number | undefined;
  let since: number | undefined;
  for (const part of text.toLowerCase().split(/\s+/)) {
    const [name = "", value = ""] = part.split(/:(.*)/s);
    if (part.startsWith(">") && toMs(part.slice(1)) !== undefined) slowerThan = toMs(part.slice(1));
    else if (name === "since" && toMs(value) !== undefined) since = toMs(value);
    else if (isField(name) && value !== "") fields.push([name, value]);
    else if (part !== "") words.push(part);
  }
  return { fields, slowerThan, since, words };
}

/** @param now time in milliseconds since 1970 */
export function matches(row: Row, filter: Filter, now: number): boolean {
  const { fields, slowerThan, since, words } = filter;
  if (slowerThan !== undefined && (row.ms ?? 0) <= slowerThan) return false;
  if (since !== undefined && Date.parse(row.at) < now - since) return false;
  if (!fields.every(([name, value]) => FIELDS[name](row).some((each) => has(each, value))))
    return false;
  if (words.length === 0) return true;
  const text = [
    row.words,
    row.model,
    row.id,
    row.api,
    row.outcome,
    row.tenant,
    row.client,
    row.problem,
  ]
    .concat(row.calls, row.repairs, row.steered)
    .join(" ")
    .toLowerCase();
  return words.every((word) => text.includes(word));
}

/** The parameters of a URL for this filter. */
export function toParameters(text: string): URLSearchParams {
  const { fields, slowerThan, since, words } = parseFilter(text);
  const query = new URLSearchParams();
  for (const [name, value] of fields) query.append(name, value);
  if (slowerThan !== undefined) query.set("slower", toDuration(slowerThan));
  if (since !== undefined) query.set("since", toDuration(since));
  if (words.length > 0) query.set("q", words.join(" "));
  return query;
}

/** The filter of a URL, as text. */
export function fromParameters(query: URLSearchParams): string {
  const parts = Array.from(query, ([name, value]) => {
    if (value.length > MAX_VALUE) return "";
    if (name === "q") return value;
    if (name === "slower") return `>${value}`;
    return name === "since" || isField(name) ? `${name}:${value.replaceAll(/\s+/g, "")}` : "";
  });
  return parts.filter((part) => part !== "").join(" ");
}

const MAX_VALUE = 200;

export function toggleField(text: string, field: Field, value: string): string {
  return togglePart(text, `${field}:${value.toLowerCase().replaceAll(/\s+/g, "")}`);
}

/** Adds a part to the text, or removes it. */
export function togglePart(text: string, part: string): string {
  const parts = text.split(/\s+/).filter((each) => each !== "");
  const rest = parts.filter((each) => each.toLowerCase() !== part);
  return (rest.length === parts.length ? [...rest, part] : rest).join(" ");
}

function has(text: string, value: string): boolean {
  return text.toLowerCase().replaceAll(/\s+/g, "").includes(value);
}

function isField(name: string): name is Field {
  return Object.hasOwn(FIELDS, name);
}

function toMs(duration: string): number | undefined {
  const [, count = "", unit = ""] = DURATION.exec(duration) ?? [];
  return unit === "ms" || unit === "s" || unit === "m" || unit === "h"
    ? Number(count) * UNITS[unit]
    : undefined;
}

function toDuration(ms: number): string {
  if (ms % UNITS.h === 0) return `${ms / UNITS.h}h`;
  if (ms % UNITS.m === 0) return `${ms / UNITS.m}m`;
  return ms % UNITS.s === 0 ? `${ms / UNITS.s}s` : `${ms}ms`;
}
