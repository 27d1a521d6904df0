/** A JSON Schema in a few words. */
import { isObject } from "../../engines/untyped-json.ts";

/** @param resolve finds the schema that a reference names */
export function toTypeName(schema: unknown, resolve: (reference: string) => unknown): string {
  if (!isObject(schema)) return "any";
  const { $ref: reference } = schema;
  if (typeof reference === "string") return toTypeName(resolve(reference), resolve);
  const { anyOf, oneOf, enum: values, type, items } = schema;
  if ("const" in schema) return JSON.stringify(schema["const"]);
  if (Array.isArray(values)) return values.map((value) => String(value)).join(" · ");
  const members = Array.isArray(anyOf) ? anyOf : Array.isArray(oneOf) ? oneOf : undefined;
  if (members !== undefined) {
    const names = members
      .map((member) => toTypeName(member, resolve))
      .filter((name) => name !== "null");
    return [...new Set(names)].slice(0, MAX_NAMES).join(" or ") || "any";
  }
  if (type === "array") return `list of ${toPlural(toTypeName(items, resolve))}`;
  const types: readonly unknown[] = Array.isArray(type) ? type : [type];
  const names = types.filter((each) => typeof each === "string" && each !== "null");
  return names.join(" or ") || "any";
}

/** More are in the schema itself. */
const MAX_NAMES = 4;

function toPlural(name: string): string {
  return /^\w+$/.test(name) && name !== "any" ? `${name}s` : name === "any" ? "values" : "objects";
}

/** `default 1`, or nothing. */
export function toDefault(schema: unknown): string {
  if (!isObject(schema) || schema["default"] === undefined) return "";
  return `default ${JSON.stringify(schema["default"])}`;
}
