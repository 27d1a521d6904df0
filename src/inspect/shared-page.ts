/** One turn as a page that works without a server: the inspector's scripts, with the record embedded. */
import type { PageAssets } from "../pages/assets.ts";
import { INSPECT_PAGE } from "./page-description.ts";

/** Id of the element with the embedded record. */
const RECORD_ID = "shared-turn";

/**
 * HTML that loads nothing, in chunks. Scripts are data URLs named by an import map, because modules cannot be loaded from
 * files. The record is JSON without `<`, so its text cannot end the script element.
 *
 * @param turn the record as JSON
 */
export async function* toSharedPage(
  assets: PageAssets,
  turn: AsyncIterable<string>,
): AsyncGenerator<string> {
  const { scripts, style } = await assets.sources(INSPECT_PAGE);
  const imports: Record<string, string> = {};
  for (const [name, text] of scripts) {
    imports[moduleName(name)] =
      `data:text/javascript;base64,${toBase64(withModuleNames(name, text))}`;
  }
  const [entry = ""] = scripts.keys();
  const map = JSON.stringify({ imports });
  const start = `import ${JSON.stringify(moduleName(entry))};`;
  const policy =
    `default-src 'none'; style-src '${await hashOf(style)}'; ` +
    `script-src data: '${await hashOf(map)}' '${await hashOf(start)}'`;
  yield [
    "<!doctype html>",
    '<html lang="en"><head><meta charset="utf-8">',
    `<meta http-equiv="content-security-policy" content="${policy}">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    "<title>A turn · harmony-gateway</title>",
    `<style>${style}</style></head><body>`,
    `<script type="application/json" id="${RECORD_ID}">`,
  ].join("\n");
  for await (const chunk of turn) yield chunk.replaceAll("<", String.raw`\u003c`);
  yield [
    "</script>",
    `<script type="importmap">${map}</script>`,
    `<script type="module">${start}</script>`,
    "</body></html>",
    "",
  ].join("\n");
}

/** A bare name of a module: a name in the form of a path would be resolved against the page's URL. */
function moduleName(path: string): string {
  return `gateway/${path}`;
}

/** Replaces relative imports, which do not work in a data URL. */
function withModuleNames(path: string, text: string): string {
  return text.replaceAll(
    /(from\s*|import\s*)"(\.{1,2}\/[\w./-]+)"/g,
    (_, keyword: string, to: string) =>
      `${keyword}"${moduleName(new URL(to, `http://host/${path}`).pathname.slice(1))}"`,
  );
}

function toBase64(text: string): string {
  let binary = "";
  for (const byte of new TextEncoder().encode(text)) binary += String.fromCharCode(byte);
  return btoa(binary);
}

async function hashOf(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return `sha256-${btoa(String.fromCharCode(...new Uint8Array(digest)))}`;
}
