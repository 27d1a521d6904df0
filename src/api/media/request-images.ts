/**
 * Reads the images of a request as texts that replace them in the prompt. A failure is text as well: the client repeats
 * the image in every later request, so that an error would end its session.
 */
import { EngineError } from "../../engines/engine-error.ts";
import { withDeadline } from "../../streams/follow-signal.ts";
import type { Pause } from "../../streams/slices.ts";
import { FetchRefused } from "../../tools/browser/url-policy.ts";
import { sha256Hex } from "../sha256.ts";
import { byteCount, firstBytes } from "./base64.ts";
import { type FetchImage, MAX_IMAGE_BYTES, TOO_LARGE } from "./fetch-image.ts";
import type { ImageDescriptions, ImageKey } from "./image-descriptions.ts";
import { type ImageKind, MAX_HEAD, readImageKind } from "./image-kind.ts";
import { type ImagePart, type MediaSource, readImagePart } from "./media-part.ts";
import type { MediaCounts } from "./media-counts.ts";
import { CallsRest } from "./tenant-calls.ts";
import { describedText, leftOutText, repeatedText, unreadText } from "./media-texts.ts";
import type { Description } from "./vision-model.ts";

export interface ImageDeps {
  readonly descriptions: ImageDescriptions;
  /** Absent: images behind addresses are not fetched. */
  readonly fetchImage: FetchImage | undefined;
  /** Maximum number of images that are described for a request. The newest images take precedence. */
  readonly maxImages: number;
  /** Limit for all descriptions of a request together. */
  readonly timeoutMs: number;
  readonly counts: MediaCounts;
  readonly pause: Pause;
  readonly onOutcome: (outcome: ImageOutcome, description?: Description) => void;
  /** Called with an error of the vision model. */
  readonly onFailure: (error: unknown) => void;
}

export type ImageOutcome = "described" | "cached" | "failed";

/** Parts that are read between two pauses: a few milliseconds. */
const SLICE = 500;

/** Maximum number of different images of a request that are looked up, because a client chooses their number. */
const MAX_LOOKUPS = 256;

interface Image {
  readonly name: string;
  readonly part: ImagePart;
  /** The image's identity: equal for equal images. */
  readonly id: string;
}

/** An image that only a call can describe. */
interface NewImage {
  readonly image: Image;
  readonly key: ImageKey;
  /** Undefined: the image has not been fetched. */
  readonly kind: ImageKind | undefined;
}

export class RequestImages {
  readonly #tenant: string;
  readonly #deps: ImageDeps;

  constructor(tenant: string, deps: ImageDeps) {
    this.#tenant = tenant;
    this.#deps = deps;
  }

  /**
   * Texts for the parts that are images. Rejects only with the signal's reason.
   *
   * @param parts in the order of the conversation; images are numbered in it.
   */
  async read(parts: readonly object[], signal: AbortSignal): Promise<ReadonlyMap<object, string>> {
    const texts = new Map<object, string>();
    const images = new Map<string, Image>();
    for (const [index, part] of parts.entries()) {
      if (index % SLICE === SLICE - 1) {
        await this.#deps.pause();
        signal.throwIfAborted();
      }
      const image = readImagePart(part);
      if (image === undefined) continue;
      const id = (await identityOf(image.source)) ?? `unreadable:${images.size}`;
      const known = images.get(id);
      const name = known?.name ?? `Image ${images.size + 1}`;
      if (known === undefined) images.set(id, { name, part: image, id });
      texts.set(part, known === undefined ? id : repeatedText(name));
    }
    if (images.size === 0) return texts;
    const read = await withDeadline(signal, this.#deps.timeoutMs, (within) =>
      this.#readAll([...images.values()], within),
    );
    signal.throwIfAborted();
    return new Map([...texts].map(([part, text]) => [part, read.get(text) ?? text]));
  }

  /** The text for an image in a tool's result. */
  async readImage(source: MediaSource, signal: AbortSignal): Promise<string> {
    const part = { source, isBrief: false };
    const id = (await identityOf(source)) ?? "";
    const text = await withDeadline(signal, this.#deps.timeoutMs, async (within) => {
      const found = await this.#look({ name: "Image", part, id });
      return typeof found === "string" ? found : this.#describe(found, within);
    });
    signal.throwIfAborted();
    return text;
  }

  async #readAll(
    images: readonly Image[],
    within: AbortSignal,
  ): Promise<ReadonlyMap<string, string>> {
    const old = images.slice(0, -MAX_LOOKUPS);
    const found = await Promise.all(
      images.slice(-MAX_LOOKUPS).map(async (image) => [image.id, await this.#look(image)] as const),
    );
    const unknown = found.filter(([, each]) => typeof each !== "string");
    const wanted = new Set(unknown.slice(-this.#deps.maxImages).map(([id]) => id));
    const texts = await Promise.all(
      found.map(async ([id, each]): Promise<readonly [string, string]> => {
        if (typeof each === "string") return [id, each];
        const { name } = each.image;
        return [id, wanted.has(id) ? await this.#describe(each, within) : leftOutText(name)];
      }),
    );
    return new Map([...old.map(({ id, name }) => [id, leftOutText(name)] as const), ...texts]);
  }

  /** The image's text if no call is needed: the reason why it cannot be read, or an earlier description. */
  async #look(image: Image): Promise<string | NewImage> {
    const { source, isBrief } = image.part;
    const { name } = image;
    const fail = (why: string): string => {
      this.#note("failed");
      return unreadText(name, why);
    };
    if (source.type === "unreadable") return fail(source.why);
    if (source.type === "url" && this.#deps.fetchImage === undefined) return fail(NOT_FETCHED);
    // Other work may run between two images.
    const key = { tenant: this.#tenant, digest: await sha256Hex(image.id), isBrief };
    const kind = source.type === "data" ? kindOf(source.base64) : undefined;
    if (typeof kind === "string") return fail(kind);
    const known = await this.#deps.descriptions.find(key);
    if (known === undefined) return { image, key, kind };
    this.#note("cached");
    return describedText(name, kind, known);
  }

  async #describe({ image, key, kind }: NewImage, within: AbortSignal): Promise<string> {
    const { descriptions } = this.#deps;
    const { source } = image.part;
    try {
      const load = (signal: AbortSignal) => this.#load(source, kind, signal);
      const description = await descriptions.describe(key, load, within);
      if (description.isShared) this.#note("cached");
      else this.#note("described", description);
      return describedText(image.name, kind, description.text);
    } catch (error) {
      // A cancelled request is not a failure of the image.
      if (!isTimeout(within.reason)) within.throwIfAborted();
      this.#note("failed");
      if (error instanceof FetchRefused) return unreadText(image.name, error.message);
      if (within.aborted) return unreadText(image.name, LATE);
      if (!(error instanceof CallsRest)) this.#deps.onFailure(error);
      return unreadText(image.name, isTimeout(error) ? LATE : FAILED);
    }
  }

  async #load(source: MediaSource, kind: ImageKind | undefined, signal: AbortSignal) {
    if (source.type === "data" && kind !== undefined) {
      return { mediaType: kind.mediaType, base64: source.base64 };
    }
    const { fetchImage } = this.#deps;
    if (source.type !== "url" || fetchImage === undefined) throw new FetchRefused(NOT_FETCHED);
    const base64 = await fetchImage(source.url, signal);
    const fetched = kindOf(base64);
    if (typeof fetched === "string") throw new FetchRefused(fetched);
    return { mediaType: fetched.mediaType, base64 };
  }

  #note(outcome: ImageOutcome, description?: Description): void {
    const { counts } = this.#deps;
    counts[outcome] += 1;
    if (description) counts.tokens += description.promptTokens + description.completionTokens;
    this.#deps.onOutcome(outcome, description);
  }
}

const NOT_FETCHED = "images behind addresses are not fetched here";
const LATE = "no description came in time";
const FAILED = "the model that describes images has failed";

/**
 * Two parts with the same identity are the same image. Undefined: the image is unreadable. Long data are hashed: V8
 * hashes a long text by its length alone, so that a map of many would compare each with all others.
 */
async function identityOf(source: MediaSource): Promise<string | undefined> {
  if (source.type === "unreadable") return undefined;
  const text = source.type === "data" ? `data:${source.base64}` : `url:${source.url}`;
  return text.length <= MAX_IDENTITY ? text : `sha256:${await sha256Hex(text)}`;
}

const MAX_IDENTITY = 1024;

/** The image's format, or the reason why it cannot be read. */
function kindOf(base64: string): ImageKind | string {
  const bytes = byteCount(base64);
  if (bytes > MAX_IMAGE_BYTES) return TOO_LARGE;
  const head = firstBytes(base64, 64);
  if (head === undefined) return "its data is not base64";
  const kind = readImageKind(head);
  if (kind === undefined) return "it is no PNG, JPEG, WebP or GIF";
  // Only a JPEG may have its size far from the beginning.
  if (kind.name !== "JPEG" || kind.size !== undefined) return kind;
  return readImageKind(firstBytes(base64, MAX_HEAD) ?? head) ?? kind;
}

function isTimeout(error: unknown): boolean {
  if (error instanceof EngineError) return error.kind === "timeout";
  return error instanceof DOMException && error.name === "TimeoutError";
}
