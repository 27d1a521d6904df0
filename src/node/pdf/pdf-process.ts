/**
 * The process that reads one PDF: a hostile file can make pdf.js allocate until V8 aborts the process, which a thread's limits do
 * not prevent.
 *
 * Started by `read-pdf.ts`.
 */
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { getDocumentProxy } from "unpdf";
import { moduleBeside } from "../module-beside.ts";
import { MAX_CHARACTERS, MAX_PAGES, type PdfText } from "../../api/media/read-pdf.ts";

const received = once(process, "message");
const guard = new Worker(moduleBeside(import.meta.url, "guard-thread"), {
  workerData: Number(process.argv[2]),
});
await once(guard, "online");
const bytes: Uint8Array = (await received)[0];
process.send?.(await read());

async function read(): Promise<PdfText> {
  try {
    const document = await getDocumentProxy(bytes, { verbosity: 0 });
    const pages: string[] = [];
    let characters = 0;
    while (pages.length < Math.min(document.numPages, MAX_PAGES) && characters < MAX_CHARACTERS) {
      const page = await document.getPage(pages.length + 1);
      const { items } = await page.getTextContent();
      page.cleanup();
      const text = toText(items).slice(0, MAX_CHARACTERS - characters);
      characters += text.length;
      pages.push(text);
    }
    return { type: "text", pages, total: document.numPages };
  } catch (error) {
    const isLocked = error instanceof Error && error.name === "PasswordException";
    return { type: "unreadable", why: isLocked ? "it is encrypted" : "it is damaged" };
  }
}

function toText(items: readonly object[]): string {
  let text = "";
  for (const item of items) {
    if (!("str" in item) || typeof item.str !== "string") continue;
    text += item.str;
    if ("hasEOL" in item && item.hasEOL === true) text += "\n";
  }
  return text;
}
