/** Files that are dropped or pasted: text becomes a fenced block of the message. */
import { state, update } from "./state.ts";

const MAX_BYTES = 200_000;
/** About as many characters a token has. */
const CHARACTERS_PER_TOKEN = 4;

export async function attach(files: Iterable<File> = []): Promise<void> {
  const sentences: string[] = [];
  for (const file of files) {
    const text = await readText(file);
    if (typeof text === "object") {
      sentences.push(text.problem);
    } else {
      const block = toBlock(file.name, text);
      update({ draft: state.draft.trim() === "" ? block : `${state.draft.trimEnd()}\n\n${block}` });
      sentences.push(
        `\`${file.name}\`: about ${Math.ceil(text.length / CHARACTERS_PER_TOKEN)} tokens.`,
      );
    }
  }
  update({ notice: sentences.join(" ") });
}

async function readText(file: File): Promise<string | { readonly problem: string }> {
  if (/^(image|audio|video)\/|\/pdf$/.test(file.type)) {
    return { problem: `This page attaches text only. \`${file.name}\` was not attached.` };
  }
  if (file.size > MAX_BYTES) {
    return { problem: `\`${file.name}\` is larger than 200 KB and was not attached.` };
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
  } catch {
    return { problem: `\`${file.name}\` is no text in UTF-8 and was not attached.` };
  }
}

/** The fence is longer than any in the text. */
function toBlock(name: string, text: string): string {
  const longest = Math.max(0, ...Array.from(text.matchAll(/`{3,}/g), ([run]) => run.length));
  const fence = "`".repeat(Math.max(3, longest + 1));
  const ending = /\.([a-z0-9]{1,8})$/i.exec(name)?.[1] ?? "";
  return `${name}\n${fence}${ending}\n${text.replace(/\n$/, "")}\n${fence}`;
}
