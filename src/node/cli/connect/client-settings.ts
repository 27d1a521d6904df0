/** What `connect` knows of a client: its settings for a gateway, as data. */
import type { Target } from "./target.ts";
import { quoteShell } from "../../../snippets/literals.ts";

export interface SettingsFile {
  /** Below the home folder. */
  readonly path: string;
  /** A file of the same meaning, which is used in place of `path` where it exists. */
  readonly alternative?: string;
  /** The whole file. */
  readonly text: string;
  /**
   * The text of an existing file with these settings. Everything else in it stays, comments too. Absent: the file is the
   * gateway's own, and is replaced.
   *
   * @throws EditError if the text is in a form that cannot be edited
   */
  readonly merge?: (existing: string) => string;
}

export interface ClientSettings {
  /** Printed in place of the files: the client needs nothing else. */
  readonly variables?: Readonly<Record<string, string>>;
  readonly files?: readonly SettingsFile[];
  /** Printed in addition to the files, which name the variable. */
  readonly keyVariable?: Readonly<Record<string, string>>;
  /** Code, or lines to enter elsewhere. */
  readonly text?: string;
  /** How the client is started with these settings, without its files being changed. */
  readonly start?: {
    /** The program, with arguments before the user's. */
    readonly command: readonly [string, ...string[]];
    readonly variables: Readonly<Record<string, string>>;
    /** A file that the program reads, for as long as it runs, and the arguments that name it. */
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

/** For clients that require a key, where the gateway has none. */
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

/** Lines for a shell. */
export function toExports(variables: Readonly<Record<string, string>>): string {
  return Object.entries(variables)
    .map(([name, value]) => `export ${name}=${quote(value)}`)
    .join("\n");
}

function quote(value: string): string {
  return /^[\w.:/@-]+$/.test(value) ? value : quoteShell(value);
}
