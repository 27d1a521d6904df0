/**
 * Bundles the command with its dependencies, into `dist/command`: a start from 500 files takes twice the CPU. The
 * tokenizer's own modules become one: alone, reading each of them is a third of the time until it is ready. The other
 * modules of the package's exports stay as the compiler wrote them. The pages are bundled by `bundle-pages.ts`;
 * `dist/static` has the chat once more, for Workers. Part of `npm run build`.
 *
 * Bun and Deno run the modules: Bun replaces some packages with its own, which are no longer there in a bundle.
 *
 * Licences of bundled packages go into `dist/THIRD-PARTY-NOTICES`.
 */
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join, relative, resolve } from "node:path";
import { build, type Plugin } from "esbuild";
import * as z from "zod";
import { bundlePages } from "./bundle-pages.ts";
import { COMMAND_BUNDLE } from "./command-bundle.ts";
import { writeStaticAssets } from "./static-assets.ts";

const ROOT = join(import.meta.dirname, "..");
const SOURCES = join(ROOT, "src");
/** Folder of the bundle, in `dist`. */
const FOLDER = "command";

const manifestSchema = z.object({
  name: z.string(),
  version: z.string(),
  license: z.string().optional(),
});

/** Reads the vocabulary's file on first use instead of at each start. */
const READ_VOCABULARY = `import { readFileSync } from "node:fs";
export function vocabulary() {
  return JSON.parse(readFileSync(new URL("../tokenizer/vocabulary.json", import.meta.url), "latin1"));
}`;

/** The URL of a module as the compiler writes it: other files are found from there. */
const ownUrls: Plugin = {
  name: "own-urls",
  setup(bundle) {
    bundle.onLoad({ filter: /\/vocabulary\.ts$/ }, () => ({ contents: READ_VOCABULARY }));
    bundle.onLoad({ filter: /\.ts$/ }, ({ path }) => {
      const file = relative(SOURCES, path).replaceAll("\\", "/").replace(/\.ts$/, ".js");
      const url = `new URL(${JSON.stringify(`../${file}`)}, import.meta.url).href`;
      const contents = readFileSync(path, "utf8").replaceAll("import.meta.url", url);
      return { contents, loader: "ts" };
    });
  },
};

const { metafile } = await build({
  ...COMMAND_BUNDLE,
  absWorkingDir: ROOT,
  entryPoints: [join(SOURCES, "node/cli/main.ts")],
  outdir: join(ROOT, "dist", FOLDER),
  plugins: [ownUrls],
  legalComments: "none",
  metafile: true,
});

/** Modules of the tokenizer that others import as well, and the vocabulary, which the command reads as a file. */
const SHARED = ["ids-json.js", "special-tokens.js", "tokenizer.js", "vocabulary.json"];
const TOKENIZER = join(ROOT, "dist/tokenizer");
const tokenizer = await build({
  absWorkingDir: ROOT,
  entryPoints: [join(TOKENIZER, "o200k-harmony.js")],
  outdir: TOKENIZER,
  allowOverwrite: true,
  bundle: true,
  external: SHARED.map((name) => `./${name}`),
  format: "esm",
  platform: "neutral",
  target: "es2024",
  supported: { "import-attributes": true },
  metafile: true,
  logLevel: "warning",
});
for (const input of Object.keys(tokenizer.metafile.inputs)) {
  const name = basename(input, ".js");
  if (name === "o200k-harmony") continue;
  rmSync(join(TOKENIZER, `${name}.js`));
  rmSync(join(TOKENIZER, `${name}.d.ts`));
}

const pages = await bundlePages(join(ROOT, "dist"));
await writeStaticAssets(join(ROOT, "dist"), join(ROOT, "dist/static"));

const inputs = [...Object.keys(metafile.inputs), ...pages];
const packages = new Set(
  inputs.flatMap(
    (file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(resolve(ROOT, file))?.[0] ?? [],
  ),
);
const notices = Array.from(packages, toNotice).toSorted();
writeFileSync(
  join(ROOT, "dist/THIRD-PARTY-NOTICES"),
  `The command of harmony-gateway, in ${FOLDER}/, and its pages, in web/ and static/, contain these packages.\n\n${notices.join("\n")}`,
);

const command = join(ROOT, "dist/node.js");
const MODULES = '"./node/cli/main.js"';
const parts = readFileSync(command, "utf8").split(MODULES);
if (parts.length !== 2) throw new Error(`dist/node.js imports ${MODULES} in another way`);
const isOther = '"bun" in process.versions || "deno" in process.versions';
writeFileSync(command, parts.join(`${isOther} ? ${MODULES} : "./${FOLDER}/main.js"`));

function readManifest(folder: string): z.infer<typeof manifestSchema> {
  return manifestSchema.parse(JSON.parse(readFileSync(join(folder, "package.json"), "utf8")));
}

/** @throws for a package without a licence. */
function toNotice(folder: string): string {
  const { name, version, license } = readManifest(folder);
  const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
  if (file === undefined) throw new Error(`${name} has no licence file`);
  const text = readFileSync(join(folder, file), "utf8").trim();
  return `--- ${name} ${version}${license === undefined ? "" : ` (${license})`}\n\n${text}\n`;
}
