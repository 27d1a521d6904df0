/** Bundles the pages as static assets into the given folder: the `[build]` of `wrangler.toml`. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundlePages } from "./bundle-pages.ts";
import { writeStaticAssets } from "./static-assets.ts";

const [, , folder] = process.argv;
if (folder === undefined) throw new Error("Usage: node scripts/write-static-assets.ts <folder>");
const bundled = await mkdtemp(join(tmpdir(), "harmony-gateway-pages-"));
try {
  await bundlePages(bundled);
  await writeStaticAssets(bundled, folder);
} finally {
  await rm(bundled, { recursive: true });
}
