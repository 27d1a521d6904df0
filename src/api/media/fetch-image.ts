/** Fetches images by their URLs in a request. Like the browser tool, it connects to public addresses only. */
import {
  fetchChecked,
  type PageResponse,
  type RequestPage,
} from "../../tools/browser/fetch-page.ts";
import { FetchRefused } from "../../tools/browser/url-policy.ts";
import { readBounded } from "../../tools/read-bounded.ts";

/** Maximum size of an image. */
export const MAX_IMAGE_BYTES = 10 * 1024 * 1024;

/** Resolves with base64 text. Rejects with a {@link FetchRefused}, whose message completes a sentence for the model. */
export type FetchImage = (url: string, signal: AbortSignal) => Promise<string>;

/** @param hosts domains with their subdomains; `any`: every public one. */
export function createImageFetch(hosts: readonly string[], request: RequestPage): FetchImage {
  const policy = { allow: hosts.includes("any") ? [] : hosts, deny: [] };
  return async (url, signal) => {
    try {
      return await fetchChecked(request, { url, policy, signal }, readImage);
    } catch (error) {
      // A connection that broke or timed out is a failure of the image's server, not of the vision model.
      throw error instanceof FetchRefused ? error : new FetchRefused("its server did not send it");
    }
  };
}

async function readImage({ status, body }: PageResponse): Promise<string> {
  if (status < 200 || status > 299) throw new FetchRefused(`the server answered ${status}`);
  const bytes = await readBounded(body, MAX_IMAGE_BYTES);
  if (bytes === undefined) throw new FetchRefused(TOO_LARGE);
  return toBase64(bytes);
}

export const TOO_LARGE = "it is larger than 10 MB";

/** Bytes of a piece. A multiple of three, so that the pieces' base64 texts can be joined. */
const STEP = 24_576;

function toBase64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += STEP) {
    text += btoa(String.fromCharCode(...bytes.subarray(at, at + STEP)));
  }
  return text;
}
