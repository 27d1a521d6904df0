/** Reads untrusted JSON. */
import type { Body, FunctionTool, ToolChoice } from "./composed.ts";

export function isObject(value: unknown): value is Body {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The members of an object. Empty for any other value. */
export function members(value: unknown): Body {
  return isObject(value) ? value : {};
}

export function objects(value: unknown): Body[] {
  return Array.isArray(value) ? value.filter((each) => isObject(each)) : [];
}

export function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

export function number(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

/** A string, or the text of content parts of any API. */
export function contentText(value: unknown): string {
  if (typeof value === "string") return value;
  return objects(value)
    .map((part) => text(part["text"]) ?? "")
    .join("");
}

export function strings(value: unknown): string[] | undefined {
  if (typeof value === "string") return [value];
  if (!Array.isArray(value)) return undefined;
  return value.filter((each) => typeof each === "string");
}

/** A function in the form of any of the three APIs. Undefined: the value is not a function. */
function readTool(value: unknown): FunctionTool | undefined {
  if (!isObject(value)) return undefined;
  const inner = isObject(value["function"]) ? value["function"] : value;
  const name = text(inner["name"]);
  const type = text(value["type"]) ?? "function";
  if (name === undefined || !/^[\w.-]{1,128}$/.test(name)) return undefined;
  if (type !== "function" && type !== "custom") return undefined;
  const description = text(inner["description"]);
  const parameters = inner["parameters"] ?? inner["input_schema"];
  return {
    name,
    ...(description !== undefined && { description }),
    ...(isObject(parameters) && { parameters }),
    ...(typeof inner["strict"] === "boolean" && { strict: inner["strict"] }),
  };
}

/** Functions, and tools of other types, which stay unchanged. */
export function readTools(value: unknown) {
  const all = objects(value);
  return {
    tools: all.flatMap((each) => readTool(each) ?? []),
    hosted: all.filter((each) => readTool(each) === undefined),
  };
}

export function readToolChoice(value: unknown): ToolChoice | undefined {
  if (value === "auto" || value === "none" || value === "required") return value;
  if (!isObject(value)) return undefined;
  if (value["type"] === "auto" || value["type"] === "none") return value["type"];
  if (value["type"] === "any") return "required";
  const inner = isObject(value["function"]) ? value["function"] : value;
  const name = text(inner["name"]);
  return name === undefined ? undefined : { name };
}
