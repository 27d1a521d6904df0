/**
 * Writes a client's settings into its files, and undoes it. The previous content is kept in a file below
 * `~/.config/harmony-gateway/`, because clients may read every file of their own folder.
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { commandName } from "../command-io.ts";
import { explainFile, readOrdinaryFile } from "../../explain-file.ts";
import type { SettingsFile } from "./client-settings.ts";
import { EditError } from "./edit/edit-error.ts";
import { readJsonText } from "./edit/json-nodes.ts";
import { undoJson, type UndoneJson } from "./edit/undo-json.ts";
import { toLineChanges, undoLines } from "./undo-lines.ts";
import { replaceFile } from "./replace-file.ts";

export interface Client {
  /** The client's name as typed by the user. */
  readonly name: string;
  readonly title: string;
  /** The user's home folder. */
  readonly home: string;
}

const MAX_FILE_BYTES = 1_000_000;
/** Maximum bytes of the undo file, which holds several escaped files. */
const MAX_RECORD_BYTES = 16_000_000;

const undoRecord = z.object({
  files: z.array(
    z.object({
      path: z.string(),
      /** Null: the file did not exist. */
      before: z.string().nullable(),
      after: z.string(),
    }),
  ),
});

type Change = z.output<typeof undoRecord>["files"][number];

/** Writes the files and returns a description for the user. Throws an error with one sentence before any change. */
export function writeFiles(files: readonly SettingsFile[] | undefined, client: Client): string {
  const { title, home } = client;
  if (files === undefined) {
    throw new TypeError(
      `${title} has no settings file. Leave out --write, and copy what is printed.`,
    );
  }
  const changes = files.map((file) => toChange(file, client));
  const made = changes.filter(({ before, after }) => before !== after);
  if (made.length === 0) {
    return changes.map(({ path }) => `~/${path}: has these settings already.`).join("\n");
  }
  keepForUndo(made, client);
  for (const { path, after } of made) replaceFile(join(home, path), after);
  const shown = made.map(({ path, before, after }) =>
    before === null
      ? `~/${path}: written.`
      : `~/${path}: changed.\n${toLineChanges(before, after)}`,
  );
  return [...shown, `To undo it: ${commandName()} connect ${client.name} --undo`].join("\n\n");
}

function toChange(file: SettingsFile, { home }: Client): Change {
  const { alternative, text } = file;
  const other = alternative === undefined ? undefined : readFile(home, alternative);
  const path = alternative !== undefined && other != null ? alternative : file.path;
  const before = other ?? readFile(home, path);
  if (before === null || before.trim() === "" || file.merge === undefined) {
    return { path, before, after: `${text}\n` };
  }
  try {
    return { path, before, after: file.merge(before) };
  } catch (error) {
    if (!(error instanceof EditError)) throw error;
    throw new TypeError(
      `~/${path} cannot be changed safely: ${error.message}. Nothing was written. Put this into it by hand:\n\n${text}`,
      { cause: error },
    );
  }
}

/** Merges with an earlier record, so that one undo covers both writes, unless the user changed the file in between. */
function keepForUndo(changes: readonly Change[], client: Client): void {
  const earlier = readRecord(client);
  const files = changes.map(({ path, before, after }): Change => {
    const known = earlier.find((each) => each.path === path);
    return { path, before: known?.after === before ? known.before : before, after };
  });
  const others = earlier.filter(({ path }) => !files.some((each) => each.path === path));
  writeRecord([...others, ...files], client);
}

export interface Undone {
  /** Description of the undo for the user. */
  readonly text: string;
  /** False: a part of our change could not be undone. */
  readonly isComplete: boolean;
}

/** Undoes our changes; later changes by others stay. */
export function undoFiles(client: Client): Undone {
  const files = readRecord(client);
  if (files.length === 0) {
    throw new TypeError(
      `There is nothing to undo: --write has not changed a file of ${client.title}.`,
    );
  }
  const results = files.map((file) => ({ file, ...restore(file, client) }));
  const left = results.flatMap(({ file, isComplete }) => (isComplete ? [] : [file]));
  if (left.length === 0) rmSync(recordFile(client));
  else writeRecord(left, client);
  return {
    text: results.map(({ text }) => text).join("\n"),
    isComplete: left.length === 0,
  };
}

function restore(change: Change, client: Client): Undone {
  const text = restoreWhole(change, client);
  if (text !== undefined) return { text, isComplete: true };
  const { path, before, after } = change;
  const current = readFile(client.home, path) ?? "";
  const undone = undoKeys(path, before ?? "", after, current);
  const whole = `${recordPath(client)} has its text of before.`;
  if (undone === undefined) {
    const problem = `~/${path}: the same lines were changed after --write, so it stays as it is.`;
    return { text: `${problem} ${whole}`, isComplete: false };
  }
  if (undone.text !== current) replaceFile(join(client.home, path), undone.text);
  const isComplete = undone.kept.length === 0;
  return {
    text: isComplete
      ? `~/${path}: restored, but for what was changed since.`
      : `~/${path}: restored, except ${undone.kept.join(", ")}, changed after --write as well. ${whole}`,
    isComplete,
  };
}

/** Undefined: the file is not JSON. */
function undoKeys(
  path: string,
  before: string,
  after: string,
  current: string,
): UndoneJson | undefined {
  if (!/\.jsonc?$/.test(path)) return undefined;
  try {
    return undoJson(before, after, current);
  } catch (error) {
    if (error instanceof EditError) return undefined;
    throw error;
  }
}

/** Undoes the change by lines. Undefined: the same lines were changed since. */
function restoreWhole({ path, before, after }: Change, { home }: Client): string | undefined {
  const file = join(home, path);
  const current = readFile(home, path);
  if (current === before) return `~/${path}: is as it was.`;
  if (before === null && current === after) {
    rmSync(file);
    return `~/${path}: removed.`;
  }
  if (current === after || current === null) {
    replaceFile(file, before ?? "");
    return `~/${path}: restored.`;
  }
  const restored = undoLines(before ?? "", after, current);
  if (restored === undefined || !isValid(path, restored)) return undefined;
  replaceFile(file, restored);
  return `~/${path}: restored, but for what was changed since.`;
}

/** An undo by lines can break JSON, where lines depend on commas and brackets of others. */
function isValid(path: string, text: string): boolean {
  if (!/\.jsonc?$/.test(path)) return true;
  try {
    readJsonText(text);
    return true;
  } catch (error) {
    if (error instanceof EditError) return false;
    throw error;
  }
}

function recordPath({ name }: Client): string {
  return `~/.config/harmony-gateway/connect-${name}.json`;
}

function recordFile(client: Client): string {
  return join(client.home, recordPath(client).slice("~/".length));
}

function readRecord(client: Client): readonly Change[] {
  const text = readFile(client.home, recordPath(client).slice("~/".length), MAX_RECORD_BYTES);
  if (text === null) return [];
  try {
    return undoRecord.parse(JSON.parse(text)).files;
  } catch {
    throw new TypeError(
      `${recordPath(client)}: cannot be read, so a change could not be undone. Move it away.`,
    );
  }
}

function writeRecord(files: readonly Change[], client: Client): void {
  replaceFile(recordFile(client), `${JSON.stringify({ files }, undefined, 2)}\n`);
}

/** Null: the file does not exist. */
function readFile(home: string, path: string, maxBytes = MAX_FILE_BYTES): string | null {
  try {
    const bytes = readOrdinaryFile(join(home, path), maxBytes);
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
    const reason = explainFile(error, `~/${path}`) ?? `~/${path}: is not text in UTF-8.`;
    throw new TypeError(`${reason} Nothing was written.`, { cause: error });
  }
}
