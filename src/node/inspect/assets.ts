/**
 * Reads the page's files. In a clone they are TypeScript, and their types are stripped when they are first asked for, as
 * Node does with the gateway's own sources; in the package they have been compiled.
 */
import { readdir, readFile } from "node:fs/promises";
import type { Asset, Assets } from "../../inspect/assets.ts";

const FOLDER = new URL("../../inspect/page/", import.meta.url);
/** `.ts` in a clone, `.js` in the package. */
const EXTENSION = import.meta.url.slice(import.meta.url.lastIndexOf("."));
const ENTRY = `app${EXTENSION}`;
const LIBRARY = "lit-html.js";
/** The files of `style/`, joined in this order: later rules override earlier ones. */
const STYLE = "style.css";
const STYLES = [
  "base",
  "frame",
  "list",
  "turn",
  "messages",
  "tokens",
  "lanes",
  "parts",
  "panes",
  "narrow",
];

const SCRIPT = "text/javascript; charset=utf-8";

export function createAssets(): Assets {
  const known = new Map<string, Promise<Asset | undefined>>();
  let names: Promise<readonly string[]> | undefined;

  const listNames = (): Promise<readonly string[]> => (names ??= readNames());

  async function file(name: string): Promise<Asset | undefined> {
    // Only names that are in the folder: nothing can be asked for by a path.
    if (name !== LIBRARY && !(await listNames()).includes(name)) return undefined;
    let asset = known.get(name);
    if (asset === undefined) known.set(name, (asset = readAsset(name)));
    return asset;
  }

  return {
    file,
    async page() {
      return toPage();
    },
    async scripts() {
      const found = new Map<string, string>();
      const scripts = (await listNames()).filter((name) => name.endsWith(EXTENSION));
      for (const name of [ENTRY, ...scripts, LIBRARY]) {
        const asset = await file(name);
        if (asset !== undefined) found.set(name, asset.text);
      }
      return found;
    },
  };
}

async function readNames(): Promise<readonly string[]> {
  const names = await readdir(FOLDER);
  return [...names.filter((name) => name.endsWith(EXTENSION)), STYLE];
}

async function readAsset(name: string): Promise<Asset> {
  if (name === STYLE) return { text: await readStyle(), type: "text/css; charset=utf-8" };
  const url = name === LIBRARY ? findLibrary() : new URL(name, FOLDER);
  const text = await readFile(url, "utf8");
  return { text: await toScript(name, text), type: SCRIPT };
}

async function readStyle(): Promise<string> {
  const urls = STYLES.map((name) => new URL(`style/${name}.css`, FOLDER));
  return (await Promise.all(urls.map((url) => readFile(url, "utf8")))).join("\n");
}

/** The build for browsers: the name alone resolves to the one for servers. */
function findLibrary(): URL {
  return new URL("../lit-html.js", import.meta.resolve("lit-html"));
}

async function toScript(name: string, text: string): Promise<string> {
  const plain = name.endsWith(".ts") ? await stripTypes(text) : text;
  return plain
    .replaceAll(/from\s*"lit-html"/g, `from "./${LIBRARY}"`)
    .replaceAll(/^\/\/# sourceMappingURL=.*$/gm, "");
}

function toPage(): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Inspector · harmony-gateway</title>
<link rel="stylesheet" href="/inspect/app/${STYLE}">
<script type="module" src="/inspect/app/${ENTRY}"></script>
</head>
<body>
<noscript>The inspector needs JavaScript.</noscript>
</body>
</html>
`;
}

/** Imported here, because not every runtime that is like Node has it. */
async function stripTypes(text: string): Promise<string> {
  const { stripTypeScriptTypes } = await import("node:module");
  return stripTypeScriptTypes(text);
}
