import { expect, test } from "vitest";
import { MAX_CHARACTERS, MAX_PAGES } from "../../../src/api/media/read-pdf.ts";
import { createReadPdf } from "../../../src/node/pdf/read-pdf.ts";
import { encryptedPdf, pdfOf, pdfWith } from "../../helpers/pdf.ts";

const readPdf = createReadPdf();
const read = (bytes: Buffer, signal = new AbortController().signal) =>
  readPdf(Uint8Array.from(bytes), signal);

test("the texts of all pages, also of those without any", async () => {
  expect(await read(pdfOf(["Hello (you)", "", "<|end|>"]))).toEqual({
    type: "text",
    pages: ["Hello (you)", "", "<|end|>"],
    total: 3,
  });
});

test.each([
  ["an encrypted file", encryptedPdf(), "it is encrypted"],
  ["garbage", Buffer.from("%PDF-1.7 garbage"), "it is damaged"],
  ["a file cut in the middle", pdfOf(["Hello"]).subarray(0, 60), "it is damaged"],
  ["an empty file", Buffer.from("%PDF-"), "it is damaged"],
])("%s is not read", async (_, bytes, why) => {
  expect(await read(bytes)).toEqual({ type: "unreadable", why });
});

test("the first ones of many pages are read", async () => {
  const pages = Array.from({ length: MAX_PAGES + 2 }, (_, index) => `p${index}`);
  const result = await read(pdfOf(pages));
  expect(result).toEqual({ type: "text", pages: pages.slice(0, MAX_PAGES), total: MAX_PAGES + 2 });
});

test("the beginning of a long text is read", async () => {
  const line = "a".repeat(80);
  const lines = Array.from({ length: 50 }, () => `0 -12 Td (${line}) Tj`);
  const page = { dictionary: "", data: Buffer.from(`BT /F1 8 Tf 0 780 Td ${lines.join(" ")} ET`) };
  const result = await read(pdfWith(Array.from({ length: 200 }, () => page)));
  const pages = result.type === "text" ? result.pages : [];
  expect(pages[0]).toBe(lines.map(() => line).join("\n"));
  expect(pages.join("")).toHaveLength(MAX_CHARACTERS);
  expect(result).toMatchObject({ type: "text", total: 200 });
});

test("pages that name each other for ever are read once", async () => {
  const loop = Buffer.from(
    "%PDF-1.7\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Count 9/Kids[2 0 R]>>endobj trailer<</Root 1 0 R>>",
  );
  expect(await read(loop)).toMatchObject({ pages: [""] });
});

test("a file whose request has ended is given up", async () => {
  const abort = new AbortController();
  const reading = read(pdfOf(Array.from({ length: 300 }, () => "text")), abort.signal);
  abort.abort(new Error("left"));
  await expect(reading).rejects.toThrow("left");
});

test("a file that waits for others is given up when its request ends", async () => {
  const long = pdfOf(Array.from({ length: 300 }, () => "text"));
  const others = [read(long), read(long)];
  const abort = new AbortController();
  const waiting = read(pdfOf(["text"]), abort.signal).catch((error: unknown) => String(error));
  abort.abort(new Error("left"));
  expect(await Promise.race([waiting, ...others])).toBe("Error: left");
  await Promise.all(others);
});

test("two files are read at a time, and all are", async () => {
  const all = await Promise.all(Array.from({ length: 5 }, (_, at) => read(pdfOf([`file ${at}`]))));
  expect(all.map((each) => each.type === "text" && each.pages[0])).toEqual(
    [0, 1, 2, 3, 4].map((at) => `file ${at}`),
  );
});
