/**
 * Pages whose files the platform serves, as Workers do with static assets: the gateway creates only the HTML, which depends on
 * settings. The build has written the names of the files beside them.
 */
import * as z from "zod";
import type { ServedPages } from "./assets.ts";
import { type PageFiles, toPageHtml } from "./page-html.ts";

/** File with the names of each page's files, by the page's name. Its path has no version, so it is not cached for ever. */
export const NAMES_PATH = "/app/pages.json";

/** A binding to static assets. */
export interface AssetFetcher {
  fetch(url: string): Promise<Response>;
}

export function isAssetFetcher(binding: unknown): binding is AssetFetcher {
  return (
    typeof binding === "object" &&
    binding !== null &&
    "fetch" in binding &&
    typeof binding.fetch === "function"
  );
}

export function createStaticAssets(assets: AssetFetcher): ServedPages {
  // The cache holds data, not a promise, which would belong to the request that began it, and end with it.
  let known: ReadonlyMap<string, PageFiles> | undefined;
  return {
    async html(page, facts) {
      known ??= await readNames(assets);
      const files = known.get(page.name);
      if (files === undefined) throw new Error(`The static assets lack the page ${page.name}.`);
      return toPageHtml(page, files, facts);
    },
  };
}

async function readNames(assets: AssetFetcher): Promise<ReadonlyMap<string, PageFiles>> {
  // The binding uses only the path.
  const response = await assets.fetch(`http://assets${NAMES_PATH}`);
  if (!response.ok) throw new Error(`The static assets lack ${NAMES_PATH} (${response.status}).`);
  return new Map(Object.entries(toNamesSchema().parse(await response.json())));
}

/** The schema, created on demand: a Worker that serves programs alone never needs it. */
function toNamesSchema() {
  const files = {
    base: z.string(),
    style: z.string(),
    icon: z.string(),
    entry: z.string(),
    early: z.string().optional(),
    modules: z.array(z.string()),
  };
  return z.record(z.string(), z.object(files));
}
