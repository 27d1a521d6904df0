/**
 * The fenced blocks of the pages, and what stands about them in comments directly above, which readers do not see:
 *
 *     <!-- not run: why -->              the whole block
 *     <!-- not run, vllm: why -->        its commands that begin with these words
 *     <!-- output: node file.ts -->      it is what this command prints
 *     <!-- file: train.jsonl -->         it is written to this file, for the commands of the page
 *     <!-- with: declare const x: T; --> a snippet is checked behind this
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export interface Fence {
  /** `README.md` */
  readonly page: string;
  /** Number of the fence's opening line. */
  readonly line: number;
  readonly language: string;
  readonly body: string;
  readonly notes: readonly Note[];
}

export interface Note {
  readonly kind: "not run" | "output" | "file" | "with";
  /** For `not run`: the first words of the commands concerned. Empty: the whole block. */
  readonly prefix: string;
  readonly text: string;
}

/** The pages in the root, in docs and beside programs, except recorded ones. */
export function findPages(root: string): string[] {
  const docs = readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" });
  const pages = [
    ...readdirSync(root),
    ...docs.map((name) => join("docs", name)),
    ...["proof/bench", "proof/chaos", "proof/fuzz", "proof/real", "scripts/harmony-package"].map(
      (folder) => join(folder, "README.md"),
    ),
  ];
  return pages.filter((name) => name.endsWith(".md") && !name.endsWith("CHANGELOG.md"));
}

export function readFences(root: string, page: string): Fence[] {
  return toFences(page, readFileSync(join(root, page), "utf8"));
}

export function toFences(page: string, text: string): Fence[] {
  const pattern = /((?:^<!--(?:(?!-->)[\s\S])*-->\n+)*)^```(\w*)\n([\s\S]*?)^```/gm;
  return Array.from(
    text.matchAll(pattern),
    ({ index, 1: comments = "", 2: language = "", 3: body = "" }) => ({
      page,
      line: text.slice(0, index + comments.length).split("\n").length,
      language,
      body,
      notes: toNotes(comments),
    }),
  );
}

const KINDS = ["not run", "output", "file", "with"] as const;

function toNotes(comments: string): Note[] {
  const pattern = /<!--\s*([\w ]+)(?:, ([^:]+))?:\s*([\s\S]*?)\s*-->/g;
  return Array.from(comments.matchAll(pattern)).flatMap(([, word, prefix = "", text = ""]) => {
    const kind = KINDS.find((each) => each === word);
    return kind === undefined ? [] : [{ kind, prefix, text }];
  });
}

/** The lines of a block as commands: lines that end in a backslash are joined, comments and chains separated. */
export function toCommands({ body }: Pick<Fence, "body">): string[] {
  return (
    body
      .replaceAll(/(^|\s)#.*$/gm, "")
      .replaceAll(/\s*\\\n\s*/g, " ")
      // Lines within quotation marks belong together.
      .replaceAll(/'[^']*'/g, (quoted) => quoted.replaceAll(/\s*\n\s*/g, " "))
      .split("\n")
      .map((line) => line.trim())
      .flatMap((line) => (line.startsWith("curl ") ? [line] : line.split(" && ")))
      .filter((command) => command !== "")
  );
}

/** The reason why a command of the block is not run; undefined if it is run. */
export function reasonNotToRun({ notes }: Pick<Fence, "notes">, command = ""): string | undefined {
  return notes.find(
    ({ kind, prefix }) =>
      kind === "not run" && (prefix === "" || `${command} `.startsWith(`${prefix} `)),
  )?.text;
}

export function noteOf({ notes }: Fence, kind: Note["kind"]): string | undefined {
  return notes.find((note) => note.kind === kind)?.text;
}
