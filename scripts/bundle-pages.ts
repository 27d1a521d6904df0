/**
 * Bundles the pages for browsers into a folder, each file with compressed copies next to it. In a clone, without a
 * build, the browser loads all modules one by one.
 */
import { cp, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import { build, type BuildOptions, type Plugin, transform } from "esbuild";
import { SHARED_STYLE } from "../src/api/pages/shared-style.ts";
import { CHAT_PAGE } from "../src/pages/chat-page.ts";
import { INSPECT_PAGE } from "../src/inspect/page-description.ts";
import type { PageDescription } from "../src/pages/assets.ts";

const ROOT = join(import.meta.dirname, "..");
const PAGES: readonly PageDescription[] = [CHAT_PAGE, INSPECT_PAGE];

/** @returns the paths of all modules that were bundled */
export async function bundlePages(folder: string): Promise<readonly string[]> {
  const bundled = await Promise.all(PAGES.map((page) => bundlePage(page, folder)));
  for (const page of PAGES) await writeStyle(page, folder);
  await mkdir(join(folder, "web/shared/style"), { recursive: true });
  await cp(join(ROOT, "web/shared/style/icon.svg"), join(folder, "web/shared/style/icon.svg"));
  await Promise.all(PAGES.map(({ entry }) => compressAll(join(folder, dirname(entry)))));
  return bundled.flat();
}

async function bundlePage({ entry, early }: PageDescription, folder: string): Promise<string[]> {
  const options = {
    absWorkingDir: ROOT,
    outdir: join(folder, dirname(entry)),
    bundle: true,
    minify: true,
    metafile: true,
    format: "esm",
    platform: "browser",
    target: "es2024",
    legalComments: "none",
    logLevel: "warning",
  } satisfies BuildOptions;
  const built = [
    // Dynamically imported modules become separate files, and shared modules are in one of them.
    await build({
      ...options,
      splitting: true,
      chunkNames: "[name]-[hash]",
      entryPoints: [toPath(entry)],
      plugins: early === undefined ? [] : [importedEarly(early)],
    }),
    ...(early === undefined ? [] : [await build({ ...options, entryPoints: [toPath(early)] })]),
  ];
  return built.flatMap(({ metafile }) => Object.keys(metafile.inputs));
}

function toPath(module: string): string {
  return join(ROOT, `${module}.ts`);
}

/**
 * The module that requests the first data runs without waiting for the others. Its state exists once, because it is
 * imported and not bundled again.
 */
function importedEarly(early: string): Plugin {
  const name = early.slice(early.lastIndexOf("/") + 1);
  return {
    name: "imported-early",
    setup(bundle) {
      const filter = new RegExp(`/${name}\\.ts$`);
      bundle.onResolve({ filter }, () => ({ path: `./${name}.js`, external: true }));
    },
  };
}

async function writeStyle({ entry, styles }: PageDescription, folder: string): Promise<void> {
  const texts = await Promise.all(
    styles.map((style) => readFile(join(ROOT, `${style}.css`), "utf8")),
  );
  const { code } = await transform([SHARED_STYLE, ...texts].join("\n"), {
    loader: "css",
    minify: true,
  });
  await writeFile(join(folder, dirname(entry), "style.css"), code);
}

async function compressAll(folder: string): Promise<void> {
  const names = await readdir(folder);
  for (const name of names.filter((each) => /\.(?:js|css)$/.test(each))) {
    const bytes = await readFile(join(folder, name));
    const text = { [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT };
    await writeFile(join(folder, `${name}.gz`), await promisify(gzip)(bytes, { level: 9 }));
    await writeFile(
      join(folder, `${name}.br`),
      await promisify(brotliCompress)(bytes, { params: text }),
    );
  }
}
