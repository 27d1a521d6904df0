/**
 * Fields map parameters between a trained tool and a client's tool. A profile is a table of fields, and calls are
 * converted by them alone: a parameter without a field is never written.
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
  /** The only value written. Absent: any value of the type. */
  readonly value?: string | boolean;
  /** Whether the parameter must be in milliseconds. Tools whose description mentions seconds do not match. */
  readonly isMilliseconds?: boolean;
}

export interface Field {
  readonly writes: readonly WrittenParameter[];
  /** The parameters of the trained tool that the field reads. */
  readonly reads: readonly string[];
  /** Whether the parameters are hidden from the model. */
  readonly isHidden?: boolean;
  /** Writes the client's arguments. Throws {@link Unconvertible}. `note` receives each change. */
  toClient(args: Arguments, written: Map<string, unknown>, note: (text: string) => void): void;
  /** Moves converted arguments from `rest` to `written`. Returns false if the model could not have written them. */
  toTrained(rest: Map<string, unknown>, written: Map<string, unknown>): boolean;
}

/** A field with one parameter on either side. */
interface OneToOne {
  readonly trained: string;
  readonly client: string;
  readonly type: WrittenParameter["type"];
  readonly isOptional?: boolean;
  readonly isHidden?: boolean;
  readonly there: (value: unknown, note: (text: string) => void) => unknown;
  /** Whether {@link there} could have returned the value, so that `back` may convert it. */
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

/** A text that is equal on both sides. */
export function text(trained: string, client: string): Field {
  const there = (value: unknown) => textOf(value, trained);
  return oneToOne({ trained, client, type: "string", there, fits: isText });
}

/** A text that is equal on both sides, and optional. */
export function optionalText(trained: string, client: string): Field {
  const there = (value: unknown) => textOf(value, trained);
  return oneToOne({ trained, client, type: "string", isOptional: true, there, fits: isText });
}

/** An optional whole number within the client's bounds. */
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

/** The words of a command, which the client receives as one text for a shell. */
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

/** The words to search for. Text that is not a regular expression is escaped. */
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

/** A patch in the model's own format, which the client also reads. */
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

/** A folder; "" is the root. For the root, the client omits the parameter, or writes `root`. */
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

/** The first and the last line, which the client receives as the first line and a number of lines. */
export function lines(offset: string, limit: string): Field {
  return {
    writes: [offset, limit].map((name) => ({ name, type: "number", isAlways: false })),
    reads: ["line_start", "line_end"],
    toClient(args, written) {
      const [start, end] = [args.get("line_start"), args.get("line_end")];
      if (start !== undefined) written.set(offset, wholeOf(start, "line_start", 1));
      // Models write -1 for the end of the file.
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
