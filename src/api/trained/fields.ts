/**
 * How parameters of a trained tool and of a client's tool correspond. A profile is a table of these fields, and calls are
 * converted by them alone: what no field names is never written.
 */
import {
  type Arguments,
  escapePattern,
  isPattern,
  isWhole,
  isWords,
  textOf,
  toShellText,
  toShellWords,
  Unconvertible,
  wholeOf,
} from "./arguments.ts";

/** A parameter of the client's tool that a field writes. */
export interface WrittenParameter {
  readonly name: string;
  readonly type: "string" | "number" | "boolean" | "array";
  readonly isAlways: boolean;
  /** Absent: any value of the type. */
  readonly value?: string | boolean;
  /** Other tools count the seconds, and their descriptions say so. */
  readonly isMilliseconds?: boolean;
}

export interface Field {
  readonly writes: readonly WrittenParameter[];
  /** The parameters of the trained tool that it reads. */
  readonly reads: readonly string[];
  /** The model is not shown them. */
  readonly isHidden?: boolean;
  /** Throws {@link Unconvertible}. `note`: takes what was changed. */
  toClient(args: Arguments, written: Map<string, unknown>, note: (text: string) => void): void;
  /** Takes what it converts out of `rest`. Returns false if the model could not have written it. */
  toTrained(rest: Map<string, unknown>, written: Map<string, unknown>): boolean;
}

/** One parameter on either side. */
interface OneToOne {
  readonly trained: string;
  readonly client: string;
  readonly type: WrittenParameter["type"];
  readonly isOptional?: boolean;
  readonly isHidden?: boolean;
  readonly there: (value: unknown, note: (text: string) => void) => unknown;
  /** Whether the value could come from {@link there}; then `back` converts it. */
  readonly fits: (value: unknown) => boolean;
  readonly back?: (value: unknown) => unknown;
}

function oneToOne(field: OneToOne): Field {
  const { trained, client, type, isOptional = false, isHidden = false, there, fits } = field;
  const back = field.back ?? ((value) => value);
  return {
    writes: [{ name: client, type, isAlways: !isOptional }],
    reads: [trained],
    isHidden,
    toClient(args, written, note) {
      const value = args.get(trained);
      if (value === undefined && isOptional) return;
      written.set(client, there(value, note));
    },
    toTrained(rest, written) {
      const value = rest.get(client);
      if (value === undefined) return isOptional;
      rest.delete(client);
      written.set(trained, back(value));
      return fits(value);
    },
  };
}

const isText = (value: unknown): boolean => typeof value === "string";

/** The same text. */
export function text(trained: string, client: string): Field {
  const there = (value: unknown) => textOf(value, trained);
  return oneToOne({ trained, client, type: "string", there, fits: isText });
}

/** The same text, which either side may leave out. */
export function optionalText(trained: string, client: string): Field {
  const there = (value: unknown) => textOf(value, trained);
  return oneToOne({ trained, client, type: "string", isOptional: true, there, fits: isText });
}

/** A whole number within the client's bounds, which either side may leave out. */
export function whole(
  trained: string,
  client: string,
  {
    min = 0,
    max = Number.MAX_SAFE_INTEGER,
    isHidden = false,
  }: { readonly min?: number; readonly max?: number; readonly isHidden?: boolean } = {},
): Field {
  return oneToOne({
    trained,
    client,
    type: "number",
    isOptional: true,
    isHidden,
    there(value, note) {
      const asked = wholeOf(value, trained, 0);
      const used = Math.min(max, Math.max(min, asked));
      if (used !== asked) note(`${trained}: ${used} instead of ${asked}`);
      return used;
    },
    fits: (value) => isWhole(value) && value >= min && value <= max,
  });
}

/** Milliseconds after which a command is ended. */
export function timeout(client: string, bounds: Parameters<typeof whole>[2] = {}): Field {
  const field = whole("timeout", client, bounds);
  return { ...field, writes: field.writes.map((each) => ({ ...each, isMilliseconds: true })) };
}

/** The words of a command, of which the client takes a text for a shell. */
export function shell(client: string): Field {
  return oneToOne({
    trained: "command",
    client,
    type: "string",
    there: toShellText,
    fits: (value) => isText(value) && value !== "",
    back: (value) => toShellWords(String(value)),
  });
}

/** The words of a command. */
export function words(client: string): Field {
  return oneToOne({
    trained: "command",
    client,
    type: "array",
    there: (value) => (isWords(value) ? value : toShellWords(toShellText(value))),
    fits: isWords,
  });
}

/** The words to search for. What is no regular expression is searched as text. */
export function pattern(client: string): Field {
  return oneToOne({
    trained: "query",
    client,
    type: "string",
    there(value, note) {
      const query = textOf(value, "query");
      if (isPattern(query)) return query;
      note("query: searched as text, because it is no regular expression");
      return escapePattern(query);
    },
    fits: (value) => typeof value === "string" && isPattern(value),
  });
}

/** A patch in the model's own format, which the client reads as well. */
export function patch(client: string): Field {
  return oneToOne({
    trained: "patch",
    client,
    type: "string",
    there(value) {
      const written = textOf(value, "patch");
      return written.endsWith("\n") ? written : `${written}\n`;
    },
    fits: (value) => typeof value === "string" && value.endsWith("\n"),
  });
}

/** A folder, of which "" is the root. The client may leave it out for the root, or spells it `root`. */
export function folder(client: string, root?: string): Field {
  return {
    writes: [{ name: client, type: "string", isAlways: root !== undefined }],
    reads: ["path"],
    toClient(args, written) {
      const path = textOf(args.get("path"), "path");
      if (path !== "") written.set(client, path);
      else if (root !== undefined) written.set(client, root);
    },
    toTrained(rest, written) {
      const value = rest.get(client);
      rest.delete(client);
      written.set("path", value === root ? "" : value);
      return value === root || (isText(value) && value !== "");
    },
  };
}

/** The first and the last line, of which the client takes the first and how many. */
export function lines(offset: string, limit: string): Field {
  return {
    writes: [offset, limit].map((name) => ({ name, type: "number", isAlways: false })),
    reads: ["line_start", "line_end"],
    toClient(args, written) {
      const [start, end] = [args.get("line_start"), args.get("line_end")];
      if (start !== undefined) written.set(offset, wholeOf(start, "line_start", 1));
      // The end of the file, as models write it.
      if (end === undefined || end === -1) return;
      const count = wholeOf(end, "line_end", 1) - Number(start ?? 1) + 1;
      if (count < 1) throw new Unconvertible("line_end is before line_start");
      written.set(limit, count);
    },
    toTrained(rest, written) {
      const [start, count] = [rest.get(offset), rest.get(limit)];
      rest.delete(offset);
      rest.delete(limit);
      if (start !== undefined) written.set("line_start", start);
      if (count !== undefined) written.set("line_end", Number(start ?? 1) + Number(count) - 1);
      return [start, count].every((each) => each === undefined || (isWhole(each) && each >= 1));
    },
  };
}

/** A parameter of the client that always has this value. */
export function constant(client: string, value: string | boolean): Field {
  const type = typeof value === "string" ? "string" : "boolean";
  return {
    writes: [{ name: client, type, isAlways: true, value }],
    reads: [],
    toClient(_args, written) {
      written.set(client, value);
    },
    toTrained(rest) {
      const given = rest.get(client);
      rest.delete(client);
      return given === value;
    },
  };
}
