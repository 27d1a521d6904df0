/** What `connect` knows of a client: its settings for a gateway, as data. */
import type { Target } from "./target.ts";

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
