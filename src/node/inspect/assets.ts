/**
 * Reads the page's files, when they are first asked for. In a clone they are TypeScript, whose types are stripped, as Node does
 * with the gateway's own sources; in the package they have been compiled.
 */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { Assets } from "../../inspect/assets.ts";
import { toPageHtml } from "../../inspect/page-html.ts";

const FOLDER = new URL("../../inspect/page/", import.meta.url);
/** `.ts` in a clone, `.js` in the package. */
const EXTENSION = import.meta.url.slice(import.meta.url.lastIndexOf("."));
const ENTRY = `app${EXTENSION}`;
const EARLY = `first-load${EXTENSION}`;
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

export function createAssets(): Assets {
  let read: Promise<Files> | undefined;
  const files = (): Promise<Files> => {
    read ??= readFiles().catch((error: unknown) => {
      // The next request reads them again.
      read = undefined;
      throw error;
    });
    return read;
  };
  return {
    async page() {
      const { version, scripts } = await files();
      const modules = [...scripts.keys()].filter((name) => name !== ENTRY && name !== EARLY);
      const base = `inspect/app/${version}/`;
      return toPageHtml({ base, style: STYLE, early: EARLY, entry: ENTRY, modules });
    },
    async file(asked, name) {
      const { version, style, scripts } = await files();
      if (asked !== version) return undefined;
      if (name === STYLE) return { text: style, type: "text/css; charset=utf-8" };
      const text = scripts.get(name);
      return text === undefined ? undefined : { text, type: "text/javascript; charset=utf-8" };
    },
    async style() {
      return (await files()).style;
    },
    async scripts() {
      const { scripts } = await files();
      return new Map([[ENTRY, scripts.get(ENTRY) ?? ""], ...scripts]);
    },
  };
}

interface Files {
  readonly version: string;
  readonly style: string;
  /** Only the modules that the entry imports: no other file of the folder is served. */
  readonly scripts: ReadonlyMap<string, string>;
}

async function readFiles(): Promise<Files> {
  const [style, scripts] = await Promise.all([readStyle(), readScripts()]);
  const hash = createHash("sha256").update(style);
  for (const [name, text] of scripts) hash.update(name).update(text);
  return { version: hash.digest("base64url").slice(0, 16), style, scripts };
}

/** The modules of the page, found by their imports. Those of the first load come before all others. */
async function readScripts(): Promise<Map<string, string>> {
  const scripts = new Map<string, string>();
  for (const start of [EARLY, ENTRY]) {
    let level = [start];
    while (level.length > 0) {
      const texts = await Promise.all(level.map((name) => readScript(name)));
      for (const [index, name] of level.entries()) scripts.set(name, texts[index] ?? "");
      const imported = new Set(texts.flatMap((text) => importsOf(text)));
      level = [...imported].filter((name) => !scripts.has(name));
    }
  }
  return scripts;
}

function importsOf(text: string): string[] {
  return Array.from(text.matchAll(/\b(?:from|import)\s*"\.\/([\w.-]+)"/g), ([, name = ""]) => name);
}

async function readScript(name: string): Promise<string> {
  const url = name === LIBRARY ? findLibrary() : new URL(name, FOLDER);
  return toScript(name, await readFile(url, "utf8"));
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

/** Imported here, because not every runtime that is like Node has it. */
async function stripTypes(text: string): Promise<string> {
  const { stripTypeScriptTypes } = await import("node:module");
  return stripTypeScriptTypes(text);
}
