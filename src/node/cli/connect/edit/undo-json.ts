/** Undoes changes to the values of a JSON file, key by key, where the text around them was changed since. */
import { isDeepStrictEqual } from "node:util";
import { isObject } from "../../../../engines/untyped-json.ts";
import { type JsonNode, readJsonText } from "./json-nodes.ts";
import { setJsonValues } from "./json-text.ts";

export interface UndoneJson {
  readonly text: string;
  /** Paths such as `env.ANTHROPIC_MODEL` of values that were changed later as well. They stay. */
  readonly kept: readonly string[];
}

/** A member of an object, or an item of a list. */
type Path = readonly (string | number)[];

interface Operation {
  readonly path: Path;
  /** Absent: the member or item is removed. */
  readonly value?: unknown;
}

/** @throws EditError if a text is not JSON */
export function undoJson(before: string, after: string, current: string): UndoneJson {
  const operations: Operation[] = [];
  const kept: string[] = [];
  const [was, ours, now] = [before, after, current].map((text) =>
    text.trim() === "" ? undefined : toValue(text, readJsonText(text)),
  );
  collect(was, ours, now, [], operations, kept);
  // Items of a list are handled from the last one on, so that the indexes of earlier ones stay valid.
  return { text: operations.toReversed().reduce(apply, current), kept };
}

/** Compares a value before our change, after it, and now. Undefined: the value does not exist. */
function collect(
  before: unknown,
  after: unknown,
  now: unknown,
  path: Path,
  operations: Operation[],
  kept: string[],
): void {
  if (isDeepStrictEqual(before, after) || isDeepStrictEqual(before, now)) return;
  if (isDeepStrictEqual(after, now) && path.length > 0) {
    operations.push({ path, ...(before !== undefined && { value: before }) });
  } else if (isObject(after) && isObject(now) && (before === undefined || isObject(before))) {
    const inner: Operation[] = [];
    const old = before ?? {};
    for (const key of new Set([...Object.keys(old), ...Object.keys(after)])) {
      const [was, ours, is] = [old, after, now].map((each) =>
        Object.hasOwn(each, key) ? each[key] : undefined,
      );
      collect(was, ours, is, [...path, key], inner, kept);
    }
    const goes = inner.filter((each) => !("value" in each) && each.path.length === path.length + 1);
    // An object with our members only is removed as a whole.
    const isEmpty = before === undefined && goes.length === Object.keys(now).length;
    operations.push(...(isEmpty && path.length > 0 ? [{ path }] : inner));
  } else if (Array.isArray(after) && Array.isArray(now) && !isObject(before)) {
    collectItems(Array.isArray(before) ? before : [], after, now, path, operations, kept);
  } else if (now !== undefined) {
    kept.push(path.join("."));
  }
}

function collectItems(
  before: readonly unknown[],
  after: readonly unknown[],
  now: readonly unknown[],
  path: Path,
  operations: Operation[],
  kept: string[],
): void {
  const added = after.filter((item) => !has(before, item));
  const isOurs = (item: unknown) => has(added, item);
  // An item that our change has replaced looks like an item that was removed later.
  const isClear = before.every((item) => has(after, item)) && added.every((item) => has(now, item));
  if (!isClear) kept.push(path.join("."));
  else if (before.length === 0 && now.every(isOurs)) operations.push({ path });
  else now.forEach((item, n) => isOurs(item) && operations.push({ path: [...path, n] }));
}

function has(list: readonly unknown[], item: unknown): boolean {
  return list.some((each) => isDeepStrictEqual(each, item));
}

function apply(text: string, operation: Operation): string {
  const { path } = operation;
  if ("value" in operation) {
    const steps = path.map(String);
    return setJsonValues(text, [{ path: steps, value: operation.value }]);
  }
  let node: JsonNode | undefined = readJsonText(text);
  for (const step of path.slice(0, -1)) {
    if (node?.kind === "object") node = node.members.findLast(({ key }) => key === step)?.value;
    else node = node?.kind === "array" ? node.items[Number(step)] : undefined;
  }
  const last = path.at(-1);
  if (node === undefined || node.kind === "scalar") return text;
  const spans =
    node.kind === "array"
      ? node.items
      : node.members.map(({ start, value }) => ({ start, end: value.end }));
  const at =
    node.kind === "array" ? Number(last) : node.members.findLastIndex(({ key }) => key === last);
  return without(text, node, spans, at);
}

/** @param spans of the members or items of the node. */
function without(
  text: string,
  { start, end, afterComma }: Extract<JsonNode, { kind: "object" | "array" }>,
  spans: readonly { readonly start: number; readonly end: number }[],
  at: number,
): string {
  const [before, own, next] = [spans[at - 1], spans[at], spans[at + 1]];
  if (own === undefined) return text;
  if (before !== undefined) return text.slice(0, before.end) + text.slice(own.end);
  if (next !== undefined) return text.slice(0, own.start) + text.slice(next.start);
  const inside = text.slice(start + 1, own.start) + text.slice(afterComma ?? own.end, end - 1);
  return text.slice(0, start + 1) + (inside.trim() === "" ? "" : inside) + text.slice(end - 1);
}

function toValue(text: string, node: JsonNode): unknown {
  switch (node.kind) {
    case "scalar":
      return JSON.parse(text.slice(node.start, node.end));
    case "array":
      return node.items.map((item) => toValue(text, item));
    case "object":
      return Object.fromEntries(node.members.map(({ key, value }) => [key, toValue(text, value)]));
    default:
      return node satisfies never;
  }
}
