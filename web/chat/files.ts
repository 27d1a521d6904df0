/** Files that are attached, dropped or pasted: text, and pictures and PDFs if the gateway reads them. */
import type { TemplateResult } from "lit-html";
import type { MessageFile } from "./conversation.ts";
import { modelOf, state, update } from "./state.ts";
import { attachments } from "./view/attachments.ts";

const MAX_TEXT_BYTES = 200_000;
/** Maximum size of a picture that the gateway reads. */
const MAX_FILE_BYTES = 10_000_000;
/** Maximum characters of all files of a message in a request, which each later message repeats. */
const MAX_MESSAGE_BYTES = 20_000_000;
type Taken =
  | { readonly type: "file"; readonly file: MessageFile }
  | { readonly type: "problem"; readonly problem: string };

export async function attach(files: Iterable<File> = []): Promise<void> {
  const { id } = state.current;
  const sentences: string[] = [];
  for (const file of files) {
    const taken = await take(file);
    // Another conversation was opened: the file belongs to a message of the former one.
    if (state.current.id !== id) return;
    if (taken.type === "problem") {
      sentences.push(`${taken.problem} “${file.name}” was not attached.`);
    } else {
      update({ files: [...state.files, taken.file] });
    }
  }
  update({ notice: sentences.join(" ") });
}

async function take(file: File): Promise<Taken> {
  // An SVG file is text.
  if (/^(image\/(?!svg)|audio\/|video\/)|\/pdf$/.test(file.type)) return takeMedia(file);
  if (file.size > MAX_TEXT_BYTES) return problem("A text file has at most 200 KB.");
  try {
    const bytes = await file.arrayBuffer();
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return toTaken({ name: file.name, text });
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
  return toTaken({ name: file.name, url });
}

function toTaken(file: MessageFile): Taken {
  const size = [...state.files, file].reduce((sum, each) => sum + lengthOf(each), 0);
  if (size > MAX_MESSAGE_BYTES) return problem("The files of a message have at most 15 MB.");
  return { type: "file", file };
}

function lengthOf(file: MessageFile): number {
  return ("text" in file ? file.text : file.url).length;
}

function problem(sentence: string): Taken {
  return { type: "problem", problem: sentence };
}

const WITHOUT = new Map([
  ["image", ", and this gateway has no vision model"],
  ["file", ", and this gateway does not read PDFs"],
]);

/** Undefined: the file was deleted since, or is a folder. */
function toDataUrl(file: File): Promise<string | undefined> {
  return new Promise((resolve) => {
    const reader = new FileReader();
    reader.addEventListener("loadend", () =>
      resolve(typeof reader.result === "string" ? reader.result : undefined),
    );
    reader.readAsDataURL(file);
  });
}

/** The files of the unsent message. */
export function attached(): TemplateResult {
  return attachments(state.files, detach);
}

function detach(file: MessageFile): void {
  update({ files: state.files.filter((each) => each !== file) });
}
