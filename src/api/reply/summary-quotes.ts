/**
 * Finds verbatim quotes in a summary from texts that it must not show: the reasoning itself, and the instructions of
 * the developer and the operator. A model that reads hostile reasoning may obey it, so its summary is not trusted.
 *
 * Only letters and digits are compared, so that case, spacing, punctuation and invisible characters make no difference.
 */
import type { ContentPart, Message, ToolNamespace } from "../../harmony/conversation.ts";
import type { Pause } from "../../streams/slices.ts";

export interface SummarySources {
  readonly reasoning: string;
  /** The conversation. A summary may quote the user's messages. */
  readonly messages: readonly Message[];
  readonly pause: Pause;
}

/** Whether the summary quotes a source. Takes time linear in the texts. */
export async function quotesSource(
  summary: string,
  { reasoning, messages, pause }: SummarySources,
): Promise<boolean> {
  const runs = new LetterRuns(toLetters(summary));
  for (const letters of piecesOf(textsOf(messages, ["user"]))) {
    for (const run of runs.findIn(letters)) runs.delete(run);
    await pause();
  }
  for (const letters of piecesOf([reasoning, ...textsOf(messages, ["developer", "system"])])) {
    if (!runs.findIn(letters).next().done) return true;
    await pause();
  }
  return false;
}

/** Number of common letters that make a quotation: about nine words. */
const QUOTATION = 40;

/** All runs of {@link QUOTATION} letters in a text. */
class LetterRuns {
  readonly #runs = new Set<string>();
  /** Hashes of the runs. A run is looked up only if its hash is known. */
  readonly #hashes = new Set<number>();

  constructor(letters: string) {
    for (const [hash, run] of toRuns(letters)) {
      this.#runs.add(run());
      this.#hashes.add(hash);
    }
  }

  delete(run: string): void {
    this.#runs.delete(run);
  }

  /** The runs that another text also contains. */
  *findIn(letters: string): Generator<string, void> {
    for (const [hash, run] of toRuns(letters)) {
      if (this.#hashes.has(hash) && this.#runs.has(run())) yield run();
    }
  }
}

const BASE = 31;
/** `BASE` to the power of the length of a run. */
const LEADING = Array.from({ length: QUOTATION }).reduce<number>(
  (power) => Math.imul(power, BASE),
  1,
);

/**
 * Each run with its rolling hash, computed from the previous run's hash by removing its first letter and adding one.
 */
function* toRuns(letters: string): Generator<readonly [number, () => string], void> {
  let hash = 0;
  for (let end = 1; end <= letters.length; end++) {
    const begin = end - QUOTATION;
    hash = (Math.imul(hash, BASE) + letters.charCodeAt(end - 1)) | 0;
    if (begin > 0) hash = (hash - Math.imul(letters.charCodeAt(begin - 1), LEADING)) | 0;
    if (begin >= 0) yield [hash, () => letters.slice(begin, end)];
  }
}

/** Characters that are compared between two pauses. */
const PIECE = 65_536;
/** Characters of a piece that are repeated in the next one. */
const OVERLAP = 4096;

function* piecesOf(texts: readonly string[]): Generator<string, void> {
  const text = texts.join("\n");
  for (let at = 0; at === 0 || at + OVERLAP < text.length; at += PIECE - OVERLAP) {
    yield toLetters(text.slice(at, at + PIECE));
  }
}

/** Scripts whose characters each count as three letters. */
const DENSE = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/gu;

function toLetters(text: string): string {
  return text
    .normalize("NFKD")
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, "")
    .replaceAll(DENSE, "$&$&$&");
}

function textsOf(messages: readonly Message[], roles: readonly Message["role"][]): string[] {
  return messages.flatMap(({ role, content }) => {
    if (!roles.includes(role)) return [];
    return typeof content === "string" ? [content] : content.flatMap((part) => partTexts(part));
  });
}

function partTexts(part: ContentPart): string[] {
  switch (part.type) {
    case "text":
      return [part.text];
    case "system":
      return [part.identity ?? "", ...descriptions(part.namespaces)];
    case "developer":
      return [part.instructions ?? "", ...descriptions(part.namespaces)];
    default:
      return part satisfies never;
  }
}

function descriptions(namespaces: readonly ToolNamespace[] = []): string[] {
  return namespaces.flatMap(({ description = "", functions }) => [
    description,
    ...functions.map((each) => each.description),
  ]);
}
