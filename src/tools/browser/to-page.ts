/** Converts a fetched page for the model. */
import { runInSlices, type SliceOptions } from "../../streams/slices.ts";
import { type FetchedPage, MAX_PAGE_LENGTH } from "./fetch-page.ts";
import { htmlToText, inert } from "./html-to-text.ts";
import { type Page, toPageText } from "./page.ts";
import { wrapInSteps } from "./wrap-lines.ts";

/** Converts in slices, because a page may have a megabyte of any content. */
export async function toPage(
  { url, contentType, body }: FetchedPage,
  slices: SliceOptions,
): Promise<Page> {
  const written = body.slice(0, MAX_PAGE_LENGTH);
  const { title, text, links } = /html/i.test(contentType)
    ? await htmlToText(written, url, slices)
    : { title: toTitle(written), text: inert(written), links: [] };
  const lines = await runInSlices(wrapInSteps(toPageText(url, text)), slices);
  return { url, title: title === "" ? toName(url) : title, lines, links };
}

/** The heading of a page in Markdown, if it stands near the start. */
function toTitle(written: string): string {
  const heading = /^# +(\S.{0,199})$/m.exec(written.slice(0, TITLE_WITHIN))?.[1];
  return inert(heading ?? "");
}

const TITLE_WITHIN = 4096;

/** Approximate size of a page in characters: a short line takes more memory than its text. */
export function sizeOf({ lines, links }: Page): number {
  let length = 0;
  for (const line of lines) length += line.length + LINE_OVERHEAD;
  for (const link of links) length += link.length;
  return length;
}

const LINE_OVERHEAD = 16;

function toName(url: string): string {
  return URL.parse(url)?.hostname ?? url;
}
