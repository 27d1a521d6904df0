/**
 * Every text of an error stands whole in some test, so that a slip in it fails: `nested too deeplylyly` was once published.
 * Whole: its fixed parts, in order, in one string or pattern of a test.
 */
import { glob, readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { messagesOf, type Source, stringsOf, type Text } from "./helpers/message-texts.ts";

/** Texts that no test has, by the reason. */
const EXCEPTIONS: Readonly<Record<string, readonly string[]>> = {
  "no input reaches it: it guards a mistake in the gateway's own code": [
    "the last API must claim every request",
    "the turn ended without an end event",
    "a completion is sent again after its first token",
    "Not a JSON number:",
    "cannot be read at",
    "convert: the arguments are not valid.",
    "replay: the settings name no engine.",
    "a recorded server is not called",
    'llama.cpp does not support "',
    "a body is a text here",
    "expected an object or a list",
    "the adapter created an unexpected kind of server",
    "ws has opened its own server",
    "This module is a thread of the store.",
  ],
  "a signal between parts of the gateway, which nobody reads": [
    "the client has read nothing for clientIdleTimeoutMs",
    "response closed",
    "another response replaced it",
    "the client has disconnected",
    "the turn's consumer wants no more events",
    "out of time",
  ],
  "clients get another sentence, by the error's kind": [
    "The store does not answer.",
    "The events are too large to be stored.",
    "the completion was aborted",
  ],
  "the message of another form of the same value is shown": ["is not complete"],
  "in the log only, about a connection to Redis": [
    "connection timed out",
    "the connection was lost",
    "the store is closed",
  ],
  "in the log only, about a disk that is slower than the gateway": [
    "the disk is too slow",
    "the disk is too slow: a turn was skipped",
  ],
  "the beginning of a file, and no error": ["name: gateway\nversion: 1.0.0\nschema: v1"],
  "the tests have the optional packages": [
    "The engine llama needs a package that is not installed or cannot be loaded. Run:",
    "it needs a package that is not installed:",
    "OTEL_EXPORTER_OTLP_ENDPOINT asks for traces;",
  ],
  "only llama.cpp can cause it, in this process": [
    "llama.cpp failed:",
    "The model has been closed.",
  ],
};

/** Words with a space between them. Shorter parts join values. */
const PROSE = /[a-z]{2}[,;:.]? [a-z]/i;

/** Between two strings of the tests, and between two parts of one. */
const END = "\u0001";
const HOLE = "\u0000";

test("every text of an error stands whole in a test", { timeout: 600_000 }, async () => {
  const messages = messagesOf(await read("src/**/*.ts"));
  const tested = toSearch(await allStringsOfTests());
  const missing = new Map<string, string>();
  for (const { file, text } of messages) {
    const parts = text.map((part) => part.trim()).filter((part) => PROSE.test(part));
    if (parts.length > 0 && !tested(parts)) missing.set(parts.join(" … "), file);
  }
  const excepted = new Set(Object.values(EXCEPTIONS).flat());
  const others = [...missing].filter(([text]) => !excepted.has(text));
  expect(others).toEqual([]);
  // An exception that is no longer needed must go.
  expect([...excepted].filter((text) => !missing.has(text))).toEqual([]);
});

async function read(pattern: string): Promise<Source[]> {
  const exclude = ["**/node_modules", "**/.cache", "**/error-texts.test.ts"];
  const names = await Array.fromAsync(glob(pattern, { exclude }));
  return Promise.all(names.map(async (name) => ({ name, code: await readFile(name, "utf8") })));
}

async function allStringsOfTests(): Promise<Text[]> {
  const strings = (await read("test/**/*.ts")).flatMap((source) => stringsOf(source));
  const fixtures = await read("test/**/*.{json,jsonl}");
  return [...strings, ...fixtures.map(({ code }) => [code.replaceAll('\\"', '"')])];
}

/** Finds parts in order within one text. */
function toSearch(texts: readonly Text[]): (parts: readonly string[]) => boolean {
  const all = [...new Set(texts.map((text) => text.join(HOLE)))].join(END) + END;
  return (parts) => {
    const [longest = ""] = parts.toSorted((one, other) => other.length - one.length);
    for (let at = all.indexOf(longest); at >= 0; at = all.indexOf(longest, at + 1)) {
      const text = all.slice(all.lastIndexOf(END, at) + 1, all.indexOf(END, at));
      if (hasInOrder(text, parts)) return true;
    }
    return false;
  };
}

function hasInOrder(text: string, parts: readonly string[]): boolean {
  let from = 0;
  return parts.every((part) => {
    const at = text.indexOf(part, from);
    from = at + part.length;
    return at >= 0;
  });
}
