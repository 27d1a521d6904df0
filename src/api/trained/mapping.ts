/** Converts calls between a trained tool and the client's equivalent tool. */
import type { CodingToolName } from "../../harmony/coding-tools.ts";
import type { MappedCall } from "../../turn/mapped-tool.ts";
import { type Arguments, printArguments, readArguments, Unconvertible } from "./arguments.ts";
import type { ProfileTool } from "./profile.ts";

/** Other names that the model uses for parameters, regardless of the definition. */
const ALIASES: Partial<Record<CodingToolName, Readonly<Record<string, string>>>> = {
  "container.exec": { cmd: "command", commands: "command" },
  "repo_browser.open_file": { file_path: "path", start_line: "line_start", end_line: "line_end" },
  "repo_browser.search": { pattern: "query" },
};

/**
 * Parameters that only shape a result. If the client has no such parameter, they are dropped and noted in the record.
 */
const SHAPES: Partial<Record<CodingToolName, readonly string[]>> = {
  "repo_browser.open_file": ["line_numbers"],
  "repo_browser.search": ["max_results"],
  "repo_browser.list_dir": ["depth"],
};

/** The client's call for the body that the model wrote. */
export function toClientCall({ trained, fields, isText }: ProfileTool, body: string): MappedCall {
  const given =
    isText && isRawPatch(body) ? new Map([["patch", body.trim()]]) : readArguments(body);
  if (given === undefined) return { problem: `${trained}: the arguments are no JSON object` };
  const notes: string[] = [];
  const note = (each: string) => notes.push(each);
  try {
    const args = withoutOthers(
      trained,
      fields.flatMap(({ reads }) => reads),
      withoutAliases(trained, given),
      note,
    );
    const written = new Map<string, unknown>();
    for (const field of fields) field.toClient(args, written, note);
    const [text] = written.values();
    return { body: isText ? String(text) : printArguments(written), notes };
  } catch (error) {
    if (error instanceof Unconvertible) return { problem: `${trained}: ${error.message}` };
    throw error;
  }
}

/** Whether the body is a complete patch. A truncated call must not apply a part of one. */
function isRawPatch(body: string): boolean {
  const text = body.trim();
  return text.startsWith("*** Begin Patch\n") && text.endsWith("\n*** End Patch");
}

function withoutAliases(trained: CodingToolName, given: Arguments): Arguments {
  const aliases = new Map(Object.entries(ALIASES[trained] ?? {}));
  const args = new Map<string, unknown>();
  for (const [name, value] of given) {
    const own = aliases.get(name) ?? name;
    if (args.has(own)) throw new Unconvertible(`${name} and ${own} are the same`);
    // Models write null for parameters that they omit.
    if (value !== null) args.set(own, value);
  }
  return args;
}

function withoutOthers(
  trained: CodingToolName,
  known: readonly string[],
  args: Arguments,
  note: (text: string) => void,
): Arguments {
  const shapes = SHAPES[trained] ?? [];
  const kept = new Map(args);
  for (const name of args.keys()) {
    if (known.includes(name)) continue;
    if (!shapes.includes(name)) throw new Unconvertible(`${shorten(name)} is not possible here`);
    kept.delete(name);
    note(`${name}: left out`);
  }
  return kept;
}

function shorten(name: string): string {
  return JSON.stringify(name.slice(0, 64));
}

/** The body that the model would have written for the client's call. Undefined: the call has no trained form. */
export function toTrainedBody({ fields, isText }: ProfileTool, body: string): string | undefined {
  const [only] = fields.flatMap(({ writes }) => writes);
  const given = isText ? new Map([[only?.name ?? "", body]]) : readArguments(body);
  if (given === undefined) return undefined;
  const rest = new Map<string, unknown>(given);
  const written = new Map<string, unknown>();
  const isWhole = fields.every((field) => field.toTrained(rest, written));
  const known = [...written].filter(([, value]) => value !== undefined);
  return isWhole && rest.size === 0 ? printArguments(new Map(known)) : undefined;
}
