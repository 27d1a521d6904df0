import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { resolveModelFile } from "node-llama-cpp";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  createDownloadReport,
  expectModelFile,
  findModelFile,
  KNOWN_MODELS,
  toProgressBar,
  type DownloadProgress,
} from "../../../src/node/llama/model-file.ts";
import { listenAnywhere } from "../../helpers/listen.ts";

const never = new AbortController().signal;

describe("the file of a model", () => {
  let folder: string;
  let server: Server | undefined;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "llama-"));
  });

  afterEach(async () => {
    server?.close();
    await rm(folder, { recursive: true });
  });

  /** Serves these bytes at every path, and ranges of them. */
  async function serve(bytes: Buffer): Promise<string> {
    server = createServer(({ method, headers }, response) => {
      const [, from, to] = /^bytes=(\d+)-(\d*)$/.exec(headers.range ?? "") ?? [];
      const part = bytes.subarray(Number(from ?? 0), to ? Number(to) + 1 : undefined);
      response.writeHead(from === undefined ? 200 : 206, {
        "accept-ranges": "bytes",
        "content-length": part.length,
        ...(from !== undefined && {
          "content-range": `bytes ${from}-${Number(from) + part.length - 1}/${bytes.length}`,
        }),
      });
      response.end(method === "HEAD" ? undefined : part);
    });
    return `http://127.0.0.1:${await listenAnywhere(server)}/tiny.gguf`;
  }

  it("is the path when it is one, relative to where the gateway was started", async () => {
    const model = join(folder, "mine.gguf");
    await writeFile(model, "GGUF");
    expect(await findModelFile(resolveModelFile, { model }, never)).toBe(model);
    expect(await findModelFile(resolveModelFile, { model: relative(".", model) }, never)).toBe(
      model,
    );
  });

  it("is downloaded from a URL, once, with progress", async () => {
    const bytes = Buffer.alloc(3_000_000, "GGUF");
    const model = await serve(bytes);
    const seen: DownloadProgress[] = [];
    const find = () =>
      findModelFile(
        resolveModelFile,
        { model, modelsFolder: folder, onDownload: (progress) => seen.push(progress) },
        never,
      );
    const path = await find();
    expect(path.startsWith(folder)).toBe(true);
    // The library returns before its last write has landed.
    await expect.poll(async () => (await readFile(path)).equals(bytes)).toBe(true);
    expect(seen.at(-1)).toEqual({ downloadedBytes: bytes.length, totalBytes: bytes.length });
    const downloads = seen.length;
    expect(await find()).toBe(path);
    expect(seen).toHaveLength(downloads);
  });

  it("is the one published by llama.cpp's authors if OpenAI's name is given", async () => {
    const asked: string[] = [];
    const resolve = async (uri: string) => {
      asked.push(uri);
      return "/models/20b.gguf";
    };
    const path = await findModelFile(resolve, { model: "openai/gpt-oss-20b" }, never);
    expect(path).toBe("/models/20b.gguf");
    expect(asked).toEqual([KNOWN_MODELS.get("openai/gpt-oss-20b")]);
  });

  it("is named when it is missing", async () => {
    const model = join(folder, "none.gguf");
    await expect(findModelFile(resolveModelFile, { model }, never)).rejects.toMatchObject({
      name: "EngineError",
      kind: "not-found",
      message: `There is no file ${model}. Write the path of a GGUF file, hf:user/repository/file.gguf, or openai/gpt-oss-20b.`,
    });
  });

  it("is named when it cannot be downloaded", async () => {
    const model = "hf:none/none/none.gguf";
    const resolve = () => Promise.reject(new Error("fetch failed"));
    await expect(findModelFile(resolve, { model }, never)).rejects.toMatchObject({
      kind: "not-found",
      message: `${model} cannot be downloaded: fetch failed. Check the name and the network connection.`,
    });
  });
});

it("is reported at every percent of the download, with its rate and the time left", () => {
  const reported: string[] = [];
  let seconds = 0;
  const report = createDownloadReport(
    (text) => void reported.push(text),
    () => seconds * 1000,
  );
  for (const downloadedBytes of [1e9, 1.02e9, 1.5e9, 9.9e9, 10e9]) {
    report({ downloadedBytes, totalBytes: 10e9 });
    seconds += 5;
  }
  expect(reported.map((line) => line.replace(/\[.*\] +/, ""))).toEqual([
    // Bytes that an earlier start had downloaded do not count for the rate.
    "10%   1.0 of 10.0 GB",
    "15%   1.5 of 10.0 GB, 50 MB/s, 3 min left",
    "99%   9.9 of 10.0 GB, 593 MB/s, 1 s left",
    "100%  10.0 of 10.0 GB, 450 MB/s",
  ]);
});

it.each([
  [0, 12_100_000_000, "[------------------------]   0%   0.0 of 12.1 GB"],
  [3_025_000_000, 12_100_000_000, "[######------------------]  25%   3.0 of 12.1 GB"],
  [12_100_000_000, 12_100_000_000, "[########################] 100%  12.1 of 12.1 GB"],
  [0, 0, "[------------------------]   0%   0.0 of  0.0 GB"],
])("%s of %s bytes are shown as %s", (downloadedBytes, totalBytes, expected) => {
  expect(toProgressBar({ downloadedBytes, totalBytes })).toBe(expected);
});

it("a path without a file is an error, also where the package is missing", () => {
  expect(() => expectModelFile("nosuch.gguf")).toThrow(
    "There is no file nosuch.gguf. Write the path of a GGUF file, hf:user/repository/file.gguf, or openai/gpt-oss-20b.",
  );
  for (const other of ["openai/gpt-oss-20b", "hf:a/b/c.gguf", import.meta.filename]) {
    expectModelFile(other);
  }
});
