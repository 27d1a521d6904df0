/**
 * A ratchet: files and minified kilobytes of each folder of `src`, against `source-size.json`. A change lowers a number with
 * `--lower`, and raises one only with `--raise "the reason"`, which stands in that file. Comments, white space and local names
 * do not count.
 */
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { transformSync } from "esbuild";
import * as z from "zod";

const ROOT = join(import.meta.dirname, "..");
const LIMITS = join(import.meta.dirname, "source-size.json");
/** Maximum length of a counted file: longer files are data, such as the vocabulary. */
const MAX_CHARS = 300_000;

const sizes = z.record(
  z.string(),
  z.object({
    files: z.int(),
    kb: z.int(),
    /** Why it was raised last. */
    reason: z.string().optional(),
  }),
);
type Sizes = z.infer<typeof sizes>;

const { values } = parseArgs({
  options: { lower: { type: "boolean" }, raise: { type: "string" } },
});
const limits = sizes.parse(JSON.parse(readFileSync(LIMITS, "utf8")));
const measured = measure();
const raised = Object.entries(measured).filter(([folder, { files, kb }]) => {
  const limit = limits[folder];
  return limit === undefined || files > limit.files || kb > limit.kb;
});

if (values.raise !== undefined && values.raise.trim() !== "") {
  const reason = values.raise;
  write({
    ...limits,
    ...Object.fromEntries(raised.map(([name, size]) => [name, { ...size, reason }])),
  });
} else {
  if (values.lower === true) write(limits);
  for (const [folder, { files, kb }] of raised) {
    const { files: most = 0, kb: mostKb = 0 } = limits[folder] ?? {};
    console.error(
      `${folder}: ${files} files and ${kb} KB, of ${most} and ${mostKb} allowed by scripts/source-size.json. ` +
        'Remove something, or run npm run ratchet -- --raise "the reason".',
    );
  }
  if (raised.length > 0) process.exitCode = 1;
}

function measure(): Sizes {
  const measuring = new Map<string, { files: number; bytes: number }>();
  for (const path of globSync("src/**/*.{ts,css}", { cwd: ROOT })) {
    const text = readFileSync(join(ROOT, path), "utf8");
    if (text.length > MAX_CHARS) continue;
    const loader = path.endsWith(".css") ? "css" : "ts";
    const { code } = transformSync(text, { loader, minify: true, target: "esnext" });
    const parts = path.split("/");
    const folder = parts.length > 2 ? parts.slice(0, 2).join("/") : "src";
    const size = measuring.get(folder) ?? { files: 0, bytes: 0 };
    measuring.set(folder, { files: size.files + 1, bytes: size.bytes + code.length });
  }
  return Object.fromEntries(
    [...measuring].map(([folder, { files, bytes }]) => [
      folder,
      { files, kb: Math.ceil(bytes / 1000) },
    ]),
  );
}

/** The lower of both numbers, for each folder that exists. */
function write(allowed: Sizes): void {
  const rows = Object.entries(measured).flatMap(([folder, { files, kb }]) => {
    const limit = allowed[folder];
    if (limit === undefined) return [];
    return [
      [
        folder,
        { ...limit, files: Math.min(files, limit.files), kb: Math.min(kb, limit.kb) },
      ] as const,
    ];
  });
  const sorted = rows.toSorted(([one], [other]) => (one < other ? -1 : 1));
  writeFileSync(LIMITS, `${JSON.stringify(Object.fromEntries(sorted), null, 2)}\n`);
}
