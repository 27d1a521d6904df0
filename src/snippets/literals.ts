/** Values as literals of languages, on one line where they fit. */

import { Code } from "./clients/typed-code.ts";

const WIDTH = 76;

interface Syntax {
  readonly scalar: (value: string | number | boolean | null) => string;
  readonly name: (name: string) => string;
}

const TYPESCRIPT: Syntax = {
  scalar: (value) => JSON.stringify(value),
  // An unquoted `__proto__` would set the prototype.
  name: (name) => {
    if (name === "__proto__") return '["__proto__"]: ';
    return /^[A-Za-z_$][\w$]*$/.test(name) ? `${name}: ` : `${JSON.stringify(name)}: `;
  },
};

const PYTHON: Syntax = {
  scalar: (value) => {
    if (value === null) return "None";
    if (typeof value === "boolean") return value ? "True" : "False";
    return JSON.stringify(value);
  },
  name: (name) => `${JSON.stringify(name)}: `,
};

export function toTypeScript(value: unknown, indent = ""): string {
  return write(value, indent, TYPESCRIPT);
}

export function toPython(value: unknown, indent = ""): string {
  return write(value, indent, PYTHON, "    ");
}

function write(value: unknown, indent: string, syntax: Syntax, unit = "  "): string {
  if (value instanceof Code) return value.text;
  if (typeof value !== "object" || value === null) return syntax.scalar(toScalar(value));
  const isList = Array.isArray(value);
  const entries: [string, unknown][] = isList
    ? value.map((each: unknown) => ["", each])
    : Object.entries(value).filter(([, each]) => each !== undefined);
  const [open, close] = isList ? "[]" : "{}";
  if (entries.length === 0) return `${open}${close}`;
  const inner = `${indent}${unit}`;
  const parts = entries.map(
    ([name, each]) => `${isList ? "" : syntax.name(name)}${write(each, inner, syntax, unit)}`,
  );
  const space = isList || syntax === PYTHON ? "" : " ";
  const line = `${open}${space}${parts.join(", ")}${space}${close}`;
  if (line.length + indent.length <= WIDTH && !line.includes("\n")) return line;
  return `${open}\n${parts.map((part) => `${inner}${part},\n`).join("")}${indent}${close}`;
}

function toScalar(value: unknown): string | number | boolean | null {
  const isScalar =
    typeof value === "string" || typeof value === "number" || typeof value === "boolean";
  return isScalar ? value : null;
}

/** Puts a text in single quotes, for a shell. */
export function quoteShell(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
