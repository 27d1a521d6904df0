/** Files that are dropped or pasted: text becomes a fenced block of the message, pictures and PDFs go along where they are read. */
import type { TemplateResult } from "lit-html";
import type { Attachment } from "../../src/snippets/composed.ts";
import { modelOf, state, update } from "./state.ts";
import { attachments } from "./view/attachments.ts";

const MAX_TEXT_BYTES = 200_000;
/** The gateway reads no larger picture. */
const MAX_FILE_BYTES = 10_000_000;
/** Of all files of a message, as they are sent, with each message that follows. */
const MAX_MESSAGE_BYTES = 20_000_000;
/** About as many characters a token has. */
const CHARACTERS_PER_TOKEN = 4;

type Taken =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "file"; readonly url: string }
  | { readonly type: "problem"; readonly problem: string };

export async function attach(files: Iterable<File> = []): Promise<void> {
  const { id } = state.current;
  const sentences: string[] = [];
  for (const file of files) {
    const taken = await take(file);
    // Another conversation has been opened: its message is not the one that the file was for.
    if (state.current.id !== id) return;
    if (taken.type === "problem") {
      sentences.push(`${taken.problem} \`${file.name}\` was not attached.`);
    } else if (taken.type === "file") {
      update({ files: [...state.files, { name: file.name, url: taken.url }] });
    } else {
      const block = toBlock(file.name, taken.text);
      update({ draft: state.draft.trim() === "" ? block : `${state.draft.trimEnd()}\n\n${block}` });
      const tokens = Math.ceil(taken.text.length / CHARACTERS_PER_TOKEN);
      sentences.push(`\`${file.name}\`: about ${tokens} tokens.`);
    }
  }
  update({ notice: sentences.join(" ") });
}

async function take(file: File): Promise<Taken> {
  // An SVG is text.
  if (/^(image\/(?!svg)|audio\/|video\/)|\/pdf$/.test(file.type)) return takeMedia(file);
  if (file.size > MAX_TEXT_BYTES) return problem("A text file has at most 200 KB.");
  try {
    const bytes = await file.arrayBuffer();
    return { type: "text", text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
  } catch {
    return problem("It is no text in UTF-8:");
  }
}

async function takeMedia(file: File): Promise<Taken> {
  const kind = file.type.endsWith("/pdf") ? "file" : file.type.replace(/\/.*/, "");
  const model = modelOf(state.current);
  const inputs = state.status?.models.find(({ id }) => id === model)?.inputs ?? [];
  if (!inputs.includes(kind)) return problem(`gpt-oss reads text only${WITHOUT.get(kind) ?? ""}.`);
  if (file.size > MAX_FILE_BYTES) return problem("A picture or a PDF has at most 10 MB.");
  const url = await toDataUrl(file);
  if (url === undefined) return problem("It cannot be read:");
  const size = state.files.reduce((sum, each) => sum + each.url.length, url.length);
  if (size > MAX_MESSAGE_BYTES) return problem("The files of a message have at most 15 MB.");
  return { type: "file", url };
}

function problem(sentence: string): Taken {
  return { type: "problem", problem: sentence };
}

const WITHOUT = new Map([
  ["image", ", and this gateway has no vision model"],
  ["file", ", and this gateway does not read PDFs"],
]);

/** Undefined: it has been deleted since, or is a folder. */
function toDataUrl(file: File): Promise<string | undefined> {
  return new Promise((resolve) => {
    const reader = new FileReader();
    reader.addEventListener("loadend", () =>
      resolve(typeof reader.result === "string" ? reader.result : undefined),
    );
    reader.readAsDataURL(file);
  });
}

/** Those of the message that is written. */
export function attached(): TemplateResult {
  return attachments(state.files, detach);
}

function detach(file: Attachment): void {
  update({ files: state.files.filter((each) => each !== file) });
}

/** The fence is longer than any in the text. */
function toBlock(name: string, text: string): string {
  const longest = Math.max(0, ...Array.from(text.matchAll(/`{3,}/g), ([run]) => run.length));
  const fence = "`".repeat(Math.max(3, longest + 1));
  const ending = /\.([a-z0-9]{1,8})$/i.exec(name)?.[1] ?? "";
  return `${name}\n${fence}${ending}\n${text.replace(/\n$/, "")}\n${fence}`;
}
