/** Creates the browser tool from the settings, on any runtime. */
import { createPause } from "../../streams/slices.ts";
import { o200kHarmony } from "../../tokenizer/index.ts";
import type { Toolbox } from "../toolbox.ts";
import { type BackendName, createSearchBackend } from "./backends.ts";
import { type BrowserDeps, createBrowserTool } from "./browser.ts";
import { createPageFetch, type RequestPage } from "./fetch-page.ts";
import { createLocalSearch, type LocalDocument } from "./local-search.ts";
import { SAMPLE_DOCUMENTS } from "./sample-documents.ts";

/** The browser's settings, and the runtime's services. */
export interface BrowserSetup {
  readonly browserSearch: BackendName | "local";
  readonly browserSearchUrl?: string | undefined;
  readonly browserSearchKey?: string | undefined;
  readonly browserAllow: readonly string[];
  readonly browserDeny: readonly string[];
}

export interface BrowserRuntime {
  readonly requestPage: RequestPage;
  /** Documents for local search. Absent: a few sample documents. */
  readonly documents?: readonly LocalDocument[] | undefined;
}

const SEARCH_TIMEOUT_MS = 10_000;
const OPEN_TIMEOUT_MS = 15_000;

export function openBrowser(
  setup: BrowserSetup,
  { requestPage, documents = SAMPLE_DOCUMENTS }: BrowserRuntime,
): NonNullable<Toolbox["browser"]> {
  const deps: BrowserDeps = {
    ...toSources(setup, requestPage, documents),
    policy: { allow: setup.browserAllow, deny: setup.browserDeny },
    tokenizer: o200kHarmony(),
    searchTimeoutMs: SEARCH_TIMEOUT_MS,
    openTimeoutMs: OPEN_TIMEOUT_MS,
    pause: createPause(),
  };
  return (options) => createBrowserTool(deps, options);
}

function toSources(
  { browserSearch, browserSearchUrl: url, browserSearchKey: key }: BrowserSetup,
  requestPage: RequestPage,
  documents: readonly LocalDocument[],
): Pick<BrowserDeps, "backend" | "fetchPage"> {
  if (browserSearch === "local") {
    const local = createLocalSearch(documents);
    return { backend: local, fetchPage: local.fetchPage };
  }
  const backend = createSearchBackend(browserSearch, {
    url,
    key,
    fetch: (input, init) => fetch(input, init),
  });
  return { backend, fetchPage: createPageFetch(requestPage) };
}
