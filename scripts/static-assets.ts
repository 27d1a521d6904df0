/**
 * Writes the files of the pages that run without Node as Cloudflare's static assets: at their addresses, with their headers in
 * `_headers`, and the names that the Worker needs for the HTML. The platform compresses them.
 */
import { mkdir, readdir, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { CHAT_PAGE } from "../src/pages/chat-page.ts";
import { readPage } from "../src/node/pages/assets.ts";
import { FILE_HEADERS } from "../src/pages/headers.ts";
import { NAMES_PATH } from "../src/pages/static-assets.ts";

const PAGES = [CHAT_PAGE];

/** @param bundled the folder that `bundlePages` has written */
export async function writeStaticAssets(bundled: string, folder: string): Promise<void> {
  const files = new Map<string, string | Uint8Array>([["_headers", toHeaders()]]);
  const names: Record<string, object> = {};
  for (const page of PAGES) {
    const source = { root: pathToFileURL(`${bundled}/`), isBundled: true };
    const { all, named } = await readPage(page, source);
    names[page.name] = named;
    for (const [path, { plain }] of all) files.set(named.base + path, plain);
  }
  files.set(NAMES_PATH.slice(1), JSON.stringify(names));
  for (const [path, bytes] of files) await replace(join(folder, path), bytes);
  await removeOthers(folder, [...files.keys()]);
}

/** Headers for the files below a version only. */
function toHeaders(): string {
  const lines = Object.entries(FILE_HEADERS).map(([name, value]) => `  ${name}: ${value}\n`);
  return `/app/:version/*\n${lines.join("")}`;
}

/** Replaces a file atomically, because another process may read or write it. */
async function replace(path: string, bytes: string | Uint8Array): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const next = `${path}.${process.pid}`;
  await writeFile(next, bytes);
  await rename(next, path);
}

/** Folders of earlier versions. */
async function removeOthers(folder: string, paths: readonly string[]): Promise<void> {
  for (const entry of await readdir(join(folder, "app"), { withFileTypes: true })) {
    const isWanted = paths.some((path) => path.startsWith(`app/${entry.name}/`));
    if (entry.isDirectory() && !isWanted) {
      await rm(join(folder, "app", entry.name), { recursive: true, force: true });
    }
  }
}
