/** Finds or downloads a GGUF file: model names, the download folder, progress. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { resolveModelFile } from "node-llama-cpp";
import { EngineError } from "../../engines/engine-error.ts";

export interface ModelFileOptions {
  /** A path, `hf:user/repository/file`, a URL, or a name of {@link KNOWN_MODELS}. */
  readonly model: string;
  /** Folder of downloaded files. Absent: node-llama-cpp's own folder in the home directory. */
  readonly modelsFolder?: string;
  readonly onDownload?: (progress: DownloadProgress) => void;
}

export interface DownloadProgress {
  readonly downloadedBytes: number;
  readonly totalBytes: number;
}

/** The files of llama.cpp's maintainers for OpenAI's model names, 12 and 63 GB. */
export const KNOWN_MODELS: ReadonlyMap<string, string> = new Map([
  ["openai/gpt-oss-20b", "hf:ggml-org/gpt-oss-20b-GGUF/gpt-oss-20b-mxfp4.gguf"],
  ["openai/gpt-oss-120b", "hf:ggml-org/gpt-oss-120b-GGUF/gpt-oss-120b-mxfp4-00001-of-00003.gguf"],
]);

/** Finds the path of the file. Throws an {@link EngineError} if there is no such file, or the signal's reason. */
export async function findModelFile(
  resolveFile: typeof resolveModelFile,
  { model, modelsFolder, onDownload }: ModelFileOptions,
  signal: AbortSignal,
): Promise<string> {
  // The library resolves a relative path against the download folder.
  if (existsSync(model)) return resolve(model);
  try {
    return await resolveFile(KNOWN_MODELS.get(model) ?? model, {
      cli: false,
      signal,
      // The next start resumes the download.
      deleteTempFileOnCancel: false,
      ...(modelsFolder !== undefined && { directory: modelsFolder }),
      ...(onDownload !== undefined && {
        onProgress: ({ downloadedSize, totalSize }) =>
          onDownload({ downloadedBytes: downloadedSize, totalBytes: totalSize }),
      }),
    });
  } catch (error) {
    signal.throwIfAborted();
    throw new EngineError("not-found", explainMissing(model, error), { cause: error });
  }
}

/** Checks for the file without the library: an error about a missing package does not help if the file is missing too. */
export function expectModelFile(model: string): void {
  const isPath = !KNOWN_MODELS.has(model) && !/^\w+:/.test(model);
  if (isPath && !existsSync(model)) throw new EngineError("not-found", noFile(model));
}

function noFile(model: string): string {
  return `There is no file ${model}. Write the path of a GGUF file, hf:user/repository/file.gguf, or openai/gpt-oss-20b.`;
}

function explainMissing(model: string, error: unknown): string {
  const why = error instanceof Error ? error.message : String(error);
  if (why.startsWith("No model file found")) return noFile(model);
  return `${model} cannot be downloaded: ${why.replace(/\.$/, "")}. Check the name and the network connection.`;
}

/** Reports a download at every whole percent: size, rate, time left. `now` in milliseconds. */
export function createDownloadReport(
  report: (progress: string) => void,
  now: () => number,
): (progress: DownloadProgress) => void {
  let reported = -1;
  let first: { readonly at: number; readonly bytes: number } | undefined;
  return (progress) => {
    const { downloadedBytes, totalBytes } = progress;
    // Bytes of an earlier download do not count for the rate.
    first ??= { at: now(), bytes: downloadedBytes };
    const percent = Math.floor((downloadedBytes / totalBytes) * 100);
    if (!(percent > reported)) return;
    reported = percent;
    const rate = (downloadedBytes - first.bytes) / ((now() - first.at) / 1000);
    report(toProgressBar(progress) + toPace(rate, totalBytes - downloadedBytes));
  };
}

/** `, 52 MB/s, 3 min left` */
function toPace(bytesPerSecond: number, bytesLeft: number): string {
  if (!(bytesPerSecond > 0) || bytesPerSecond === Infinity) return "";
  const pace = `, ${Math.round(bytesPerSecond / 1e6)} MB/s`;
  if (bytesLeft <= 0) return pace;
  const seconds = Math.ceil(bytesLeft / bytesPerSecond);
  return seconds < 60
    ? `${pace}, ${seconds} s left`
    : `${pace}, ${Math.ceil(seconds / 60)} min left`;
}

/** `[######------------------]  25%   3.0 of 12.1 GB` */
export function toProgressBar({ downloadedBytes, totalBytes }: DownloadProgress): string {
  const done = totalBytes > 0 ? downloadedBytes / totalBytes : 0;
  const filled = Math.floor(done * BAR_WIDTH);
  const bar = "#".repeat(filled) + "-".repeat(BAR_WIDTH - filled);
  const percent = `${Math.floor(done * 100)}%`.padStart(4);
  return `[${bar}] ${percent}  ${toGigabytes(downloadedBytes)} of ${toGigabytes(totalBytes)} GB`;
}

const BAR_WIDTH = 24;

function toGigabytes(bytes: number): string {
  return (bytes / 1e9).toFixed(1).padStart(4);
}
