/** Reads the images and files of a request as texts that replace them in the prompt. */
import { hasMembers } from "../../engines/untyped-json.ts";
import { followSignal } from "../../streams/follow-signal.ts";
import type { ReadMedia } from "../../tools/mcp/connection.ts";
import type { ByteBudget } from "../request/byte-budget.ts";
import { firstBytes } from "./base64.ts";
import {
  fromBase64,
  type MediaSlot,
  type MediaSource,
  type MediaTexts,
  toFileName,
} from "./media-part.ts";
import { MediaCounts } from "./media-counts.ts";
import { readImageKind } from "./image-kind.ts";
import { type FileDeps, RequestFiles } from "./request-files.ts";
import { type ImageDeps, RequestImages } from "./request-images.ts";

export interface MediaDeps {
  /** Undefined: there is no model that describes images. */
  readonly images: Omit<ImageDeps, "counts"> | undefined;
  readonly files: FileDeps;
  /** Budget for images and files while they are read, which may take half a minute. */
  readonly budget: ByteBudget;
  /** Aborted when a shutdown stops the remaining requests. */
  readonly stopping: AbortSignal;
}

export class RequestMedia {
  readonly counts = new MediaCounts();
  /** Undefined: images are not described. */
  readonly #images: RequestImages | undefined;
  readonly #files: RequestFiles;
  readonly #tenant: string;
  readonly #budget: ByteBudget;
  readonly #stopping: AbortSignal;

  constructor(tenant: string, { images, files, budget, stopping }: MediaDeps) {
    this.#tenant = tenant;
    this.#budget = budget;
    this.#stopping = stopping;
    this.#images = images && new RequestImages(tenant, { ...images, counts: this.counts });
    this.#files = new RequestFiles(tenant, files);
  }

  /**
   * Texts for the parts that can be read. Rejects with the reason of the signal or of a shutdown, or with a
   * `RequestError` for a file that cannot be read where media are refused, and for a key that exceeds its budget.
   *
   * @param slots in the order of the conversation.
   */
  async read(slots: readonly MediaSlot[], signal: AbortSignal): Promise<MediaTexts> {
    if (slots.length === 0) return new Map();
    const lease = this.#budget.open(this.#tenant);
    const abort = new AbortController();
    const releases = [signal, this.#stopping].map((each) => followSignal(abort, each));
    try {
      lease.resize(slots.reduce((sum, { part }) => sum + sizeOf(part), 0));
      const files = await this.#files.read(slots, abort.signal);
      const parts = slots.flatMap(({ part }) => (files.has(part) ? [] : [part]));
      const images = await this.#images?.read(parts, abort.signal);
      return images === undefined ? files : new Map([...files, ...images]);
    } finally {
      for (const release of releases) release();
      lease.release();
    }
  }

  /**
   * The text for an image or a file in a result of a gateway's tool. Undefined: its format is not supported. Rejects
   * with the signal's reason.
   */
  readonly readResult: ReadMedia = async ({ name, data, mediaType }, signal) => {
    const source = fromBase64(data, mediaType);
    return /^image\/(?!svg)/i.test(mediaType) || isImage(source)
      ? this.#images?.readImage(source, signal)
      : this.#files.readFile({ name: toFileName(name), source }, signal);
  };
}

/** Characters of the texts in a part. Parts have few fields and are shallow. */
function sizeOf(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (!hasMembers(value)) return 0;
  return Object.values(value).reduce<number>((sum, each) => sum + sizeOf(each), 0);
}

/** Whether the first bytes are those of an image. */
function isImage(source: MediaSource): boolean {
  const head = source.type === "data" ? firstBytes(source.base64, 64) : undefined;
  return head !== undefined && readImageKind(head) !== undefined;
}
