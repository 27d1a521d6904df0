/**
 * Reads the pages' files on first use. In a clone the files are TypeScript, whose types are stripped, as Node does with the
 * gateway's own sources; in the package they are bundled, with compressed copies.
 */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path/posix";
import { SHARED_STYLE } from "../../api/pages/shared-style.ts";
import type { Asset, PageAssets, PageDescription } from "../../pages/assets.ts";
import { type PageFiles, toPageHtml } from "../../pages/page-html.ts";

/** The source of modules and style sheets. */
interface Source {
  /** The repository in a clone, `dist/` in the package. */
  readonly root: URL;
  /** Each page is bundled and has compressed copies. False: its modules are TypeScript. */
  readonly isBundled: boolean;
}

const IS_PACKAGE = import.meta.url.endsWith(".js");
const OWN: Source = {
  root: new URL(IS_PACKAGE ? "../../" : "../../../", import.meta.url),
  isBundled: IS_PACKAGE,
};
/** Packages that pages import, served below `lib/`: the folder of the build for browsers, and the package's main file. */
const LIBRARIES: Readonly<Record<string, { readonly folder: () => URL; readonly main: string }>> = {
  // The name alone resolves to the folder for servers.
  "lit-html": {
    folder: () => new URL("../", import.meta.resolve("lit-html")),
    main: "lit-html.js",
  },
  temml: { folder: () => new URL("./", import.meta.resolve("temml")), main: "temml.mjs" },
  marked: { folder: () => new URL("./", import.meta.resolve("marked")), main: "marked.esm.js" },
};
const STYLE = "style.css";
const ICON = "icon.svg";
const TYPES: Readonly<Record<string, string>> = {
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
};
const ENCODINGS = { br: ".br", gzip: ".gz" } as const;

/** The files of one page. */
interface Page {
  readonly version: string;
  /** All files by their paths below the version. */
  readonly all: ReadonlyMap<string, Asset>;
  /** The files that the page's HTML references. */
  readonly named: PageFiles;
}

export function createAssets(): PageAssets {
  const pages = new Map<string, Promise<Page>>();
  const open = (page: PageDescription): Promise<Page> => {
    const known = pages.get(page.name);
    if (known !== undefined) return known;
    const reading = readPage(page, OWN).catch((error: unknown) => {
      // The next request reads the files again.
      pages.delete(page.name);
      throw error;
    });
    pages.set(page.name, reading);
    return reading;
  };
  return {
    html: async (page, facts) => toPageHtml(page, (await open(page)).named, facts),
    async file(version, path) {
      const page = await pages.get(version.slice(0, version.lastIndexOf("-")));
      return page?.version === version ? page.all.get(path) : undefined;
    },
    async sources(page) {
      const { all, named } = await open(page);
      const textOf = (path: string) => new TextDecoder().decode(all.get(path)?.plain);
      const paths = new Set([named.entry, ...all.keys()]);
      paths.delete(STYLE);
      paths.delete(ICON);
      const scripts = new Map(Array.from(paths, (path) => [path, textOf(path)] as const));
      return { style: textOf(STYLE), scripts };
    },
  };
}

export async function readPage(page: PageDescription, source: Source): Promise<Page> {
  const ending = source.isBundled ? ".js" : ".ts";
  const entry = page.entry + ending;
  const early = page.early && page.early + ending;
  const [style, icon, scripts] = await Promise.all([
    readStyle(page, source),
    readFile(new URL("web/shared/style/icon.svg", source.root)),
    readScripts(early === undefined ? [entry] : [early, entry], source),
  ]);
  const all = new Map<string, Asset>([
    [STYLE, style],
    [ICON, toAsset(ICON, new Uint8Array(icon))],
    ...scripts.all,
  ]);
  const hash = createHash("sha256");
  for (const [path, { plain }] of all) hash.update(path).update(plain);
  const version = `${page.name}-${hash.digest("base64url").replaceAll(/[^\w]/g, "").slice(0, 16)}`;
  const modules = scripts.modules.filter((path) => path !== entry && path !== early);
  const named = { base: `app/${version}/`, style: STYLE, icon: ICON, entry, early, modules };
  return { version, all, named };
}

/** Reads modules, and the modules that they import. */
async function readScripts(starts: readonly string[], source: Source) {
  const all = new Map<string, Asset>();
  const dynamic = new Set<string>();
  const visit = async (start: string): Promise<void> => {
    let level = [start];
    while (level.length > 0) {
      const read = await Promise.all(level.map((path) => readScript(path, source)));
      const imported = new Set<string>();
      for (const { path, asset, text } of read) {
        all.set(path, asset);
        for (const each of importsOf(path, text, STATIC)) imported.add(each);
        for (const each of importsOf(path, text, DYNAMIC)) dynamic.add(each);
      }
      level = [...imported].filter((path) => !all.has(path));
    }
  };
  for (const start of starts) await visit(start);
  const modules = [...all.keys()];
  for (const start of dynamic) await visit(start);
  return { all, modules };
}

const STATIC = /\b(?:from|import)\s*"(\.{1,2}\/[\w./-]+)"/g;
const DYNAMIC = /\bimport\(\s*"(\.{1,2}\/[\w./-]+)"\s*\)/g;

function importsOf(path: string, text: string, pattern: RegExp): string[] {
  return Array.from(text.matchAll(pattern), ([, to = ""]) => join(path, "..", to));
}

async function readScript(path: string, source: Source) {
  const [, library = "", file = ""] = /^lib\/([\w-]+)\/(.+)$/.exec(path) ?? [];
  const url = new URL(file || path, library === "" ? source.root : LIBRARIES[library]?.folder());
  const given = await readFile(url, "utf8");
  const text = await toScript(path, given);
  const encoded = source.isBundled ? await readEncoded(url) : new Map();
  const plain = new TextEncoder().encode(text);
  const asset: Asset = { type: "text/javascript; charset=utf-8", plain, encoded };
  return { path, text, asset };
}

/** Reads the compressed copies of a file that the build wrote. */
async function readEncoded(url: URL): Promise<Asset["encoded"]> {
  const found = new Map<string, Uint8Array<ArrayBuffer>>();
  for (const [name, ending] of Object.entries(ENCODINGS)) {
    found.set(name, new Uint8Array(await readFile(new URL(`${url.href}${ending}`))));
  }
  return found;
}

async function readStyle(
  { entry, styles }: PageDescription,
  { root, isBundled }: Source,
): Promise<Asset> {
  if (isBundled) {
    const url = new URL(join(entry, "..", STYLE), root);
    const encoded = await readEncoded(url);
    return { ...toAsset(STYLE, new Uint8Array(await readFile(url))), encoded };
  }
  const urls = styles.map((style) => new URL(`${style}.css`, root));
  const texts = await Promise.all(urls.map((url) => readFile(url, "utf8")));
  return toAsset(STYLE, new TextEncoder().encode([SHARED_STYLE, ...texts].join("\n")));
}

function toAsset(path: string, plain: Uint8Array<ArrayBuffer>): Asset {
  return { type: TYPES[path.slice(path.lastIndexOf(".") + 1)] ?? "", plain, encoded: new Map() };
}

async function toScript(path: string, text: string): Promise<string> {
  const plain = path.endsWith(".ts") ? await stripTypes(text) : text;
  const up = "../".repeat(path.split("/").length - 1);
  return plain
    .replaceAll(/from\s*"([a-z][\w-]*)(\/[\w./-]+)?"/g, (whole, name: string, file?: string) => {
      if (!Object.hasOwn(LIBRARIES, name)) return whole;
      return `from "${up}lib/${name}${file ?? `/${LIBRARIES[name]?.main}`}"`;
    })
    .replaceAll(/^\/\/# sourceMappingURL=.*$/gm, "");
}

/** The import is local, because some Node-compatible runtimes lack this function. */
async function stripTypes(text: string): Promise<string> {
  const { stripTypeScriptTypes } = await import("node:module");
  // Node prints a warning that the function is experimental, in the terminal of a person who opened a page. The function is
  // synchronous, so no other warning is lost.
  const emitWarning: unknown = Reflect.get(process, "emitWarning");
  process.emitWarning = () => {};
  try {
    return stripTypeScriptTypes(text);
  } finally {
    Reflect.set(process, "emitWarning", emitWarning);
  }
}
