/** The version of the running package. */
import { readFileSync } from "node:fs";
import * as z from "zod";

const manifest = z.object({ version: z.string() });

export function readVersion(): string {
  const file = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return manifest.parse(JSON.parse(file)).version;
}
