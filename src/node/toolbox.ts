/** The tools that this process can run for the model, by the operator's settings. */
import { readdir } from "node:fs/promises";
import { join, sep } from "node:path";
import { SettingsError } from "../config/resolve.ts";
import type { Settings } from "../config/settings.ts";
import type { RequestPage } from "../tools/browser/fetch-page.ts";
import type { LocalDocument } from "../tools/browser/local-search.ts";
import type { Log } from "../telemetry/log.ts";
import type { TrainedToolbox } from "../tools/toolbox.ts";
import { explainFile, readOrdinaryFile } from "./explain-file.ts";
import { createSafeRequest } from "./safe-fetch.ts";

export interface OpenToolbox {
  readonly toolbox: TrainedToolbox;
  /** Requests pages from public addresses only. */
  readonly requestPage: RequestPage;
  close(): Promise<void>;
}

/** @throws SettingsError */
export async function openToolbox(settings: Settings, log: Log): Promise<OpenToolbox> {
  const { builtinTools } = settings;
  const safe = createSafeRequest();
  const { requestPage } = safe;
  const hasBrowser = builtinTools.includes("browser");
  const browser = hasBrowser ? await openBrowserTool(settings, requestPage) : undefined;
  const hasPython = builtinTools.includes("python");
  const python = hasPython
    ? (await import("./python/open-python.ts")).openPython(settings, log)
    : undefined;
  return {
    toolbox: { browser, python: python?.python },
    requestPage,
    async close() {
      await Promise.all([safe.close(), python?.close()]);
    },
  };
}

async function openBrowserTool(
  settings: Settings,
  requestPage: RequestPage,
): Promise<TrainedToolbox["browser"]> {
  const { browserSearch, browserSearchFolder: folder } = settings;
  const isLocal = browserSearch === "local" && folder !== undefined;
  const documents = isLocal ? await readDocuments(folder) : undefined;
  const { openBrowser } = await import("../tools/browser/open-browser.ts");
  return openBrowser(settings, { requestPage, documents });
}

/** Maximum files, and characters of each, that are searched. */
const MAX_FILES = 1000;
const MAX_LENGTH = 1_000_000;
/** Maximum bytes of a file that is read. */
const MAX_BYTES = 100_000_000;

async function readDocuments(folder: string): Promise<LocalDocument[]> {
  const names = await readdir(folder, { recursive: true }).catch(() => {
    throw new SettingsError([`browserSearchFolder ${folder}: there is no such folder.`]);
  });
  const texts = names.filter((name) => /\.(?:md|txt|html?)$/i.test(name)).toSorted();
  return texts.slice(0, MAX_FILES).map((name) => {
    const text = readText(join(folder, name));
    return { path: name.split(sep).join("/"), text: text.slice(0, MAX_LENGTH) };
  });
}

function readText(path: string): string {
  try {
    return readOrdinaryFile(path, MAX_BYTES).toString("utf8");
  } catch (error) {
    const reason = explainFile(error, path);
    throw reason === undefined ? error : new SettingsError([`browserSearchFolder: ${reason}`]);
  }
}
