/** The settings of a client for a gateway, as data for `connect`. */
import type { Target } from "./target.ts";
import { quoteShell } from "../../../snippets/literals.ts";

export interface SettingsFile {
  /** The path below the home folder. */
  readonly path: string;
  /** An equivalent file, used in place of `path` where it exists. */
  readonly alternative?: string;
  /** The content of a new file. */
  readonly text: string;
  /**
   * Returns the text of an existing file with these settings. Everything else in it stays, comments too. Absent: the gateway owns
   * the file, and replaces it.
   *
   * @throws EditError if the text is in a form that cannot be edited
   */
  readonly merge?: (existing: string) => string;
}

export interface ClientSettings {
  /** Variables that are printed in place of the files, for a client that needs nothing else. */
  readonly variables?: Readonly<Record<string, string>>;
  readonly files?: readonly SettingsFile[];
  /** The variable that the files name, printed in addition to them. */
  readonly keyVariable?: Readonly<Record<string, string>>;
  /** Code to paste, or lines to enter elsewhere. */
  readonly text?: string;
  /** The command that starts the client with these settings, without a change to its files. */
  readonly start?: {
    /** The program, with arguments before the user's. */
    readonly command: readonly [string, ...string[]];
    readonly variables: Readonly<Record<string, string>>;
    /** A temporary file for the program, and the arguments that name it. The file is kept until the program ends. */
    readonly file?: {
      readonly text: string;
      readonly toArguments: (path: string) => readonly string[];
    };
  };
}

export interface ConnectedClient {
  readonly title: string;
  readonly settings: (target: Target) => ClientSettings;
}

/** Placeholder for clients that require a key, where the gateway has none. */
export const NO_KEY = "none";

export function toJson(value: unknown): string {
  return JSON.stringify(value, undefined, 2);
}

/** The settings of a client as text that can be pasted. */
export function toText({ variables, files, keyVariable, text, start }: ClientSettings): string {
  return [
    ...(variables === undefined ? [] : [toExports(variables)]),
    ...(variables === undefined ? (files ?? []) : []).map(
      (file) => `# ~/${file.path}\n${file.text}`,
    ),
    ...(keyVariable === undefined ? [] : [toExports(keyVariable)]),
    ...(text === undefined ? [] : [text]),
    ...(start === undefined ? [] : ["# To start it with these settings: add -- to this command"]),
  ].join("\n\n");
}

/** Formats variables as `export` lines for a shell. */
export function toExports(variables: Readonly<Record<string, string>>): string {
  return Object.entries(variables)
    .map(([name, value]) => `export ${name}=${quote(value)}`)
    .join("\n");
}

function quote(value: string): string {
  return /^[\w.:/@-]+$/.test(value) ? value : quoteShell(value);
}
