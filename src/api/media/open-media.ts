/** Creates the readers of images and files in requests, by the operator's settings. */
import type { Settings } from "../../config/settings.ts";
import type { Transport } from "../../engines/transport.ts";
import type { EntryDeps } from "../../store/entries.ts";
import { createForgivingStore, type GuardedStore } from "../../store/guarded-store.ts";
import type { Log } from "../../telemetry/log.ts";
import { describeForLog } from "../../telemetry/describe-for-log.ts";
import type { Meters } from "../../telemetry/meters.ts";
import type { Pause } from "../../streams/slices.ts";
import type { RequestPage } from "../../tools/browser/fetch-page.ts";
import { partOf, type ProcessState } from "../../lazy.ts";
import { ByteBudget, HeldBytes } from "../request/byte-budget.ts";
import { createImageFetch } from "./fetch-image.ts";
import { ImageDescriptions } from "./image-descriptions.ts";
import { PdfTexts } from "./pdf-texts.ts";
import type { ReadPdf } from "./read-pdf.ts";
import { type MediaDeps, RequestMedia } from "./request-media.ts";
import { createVisionModel } from "./vision-model.ts";

export interface MediaServices {
  readonly store: GuardedStore;
  readonly onUnreadable: EntryDeps["onUnreadable"];
  readonly log: Log;
  readonly meters: Meters;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
  readonly transport: Transport;
  readonly pause: Pause;
  readonly stopping: AbortSignal;
  readonly state: ProcessState;
  /** Absent: PDFs are not read. */
  readonly readPdf?: ReadPdf | undefined;
  /** Absent: images behind addresses are not fetched. */
  readonly requestPage?: RequestPage | undefined;
}

/** Budget of a tenant for simultaneous reading of images and files, in request bodies of the maximum size. */
const BODIES = 4;

const heldIn = partOf(() => new HeldBytes());

/** Begins to read the images and files of a request of this tenant. */
export type OpenMedia = (tenant: string) => RequestMedia;

export function createOpenMedia(settings: Settings, services: MediaServices): OpenMedia {
  const { readPdf, pause, clock, stopping, state } = services;
  const entries = toEntryDeps(settings, services);
  const deps = {
    images: toImageDeps(settings, services),
    budget: new ByteBudget(BODIES * settings.maxBodyBytes, {
      doing: "reading images and files of",
      held: heldIn(services.state),
    }),
    files: { pdfs: readPdf && new PdfTexts({ ...entries, readPdf, clock, state }), pause },
    stopping,
  };
  return (tenant) => new RequestMedia(tenant, deps);
}

/** Undefined: there is no vision model. */
function toImageDeps(settings: Settings, services: MediaServices): MediaDeps["images"] {
  const { visionUrl: url, visionModel: model, visionKey: key } = settings;
  if (url === undefined || model === undefined) return undefined;
  const { log, meters, clock, transport, requestPage } = services;
  const { connectTimeoutMs, visionTimeoutMs: timeoutMs, mediaHosts } = settings;
  const vision = createVisionModel({ url, model, key, connectTimeoutMs, transport });
  return {
    descriptions: new ImageDescriptions({
      ...toEntryDeps(settings, services),
      vision,
      timeoutMs,
      clock,
      state: services.state,
    }),
    fetchImage:
      requestPage && mediaHosts.length > 0 ? createImageFetch(mediaHosts, requestPage) : undefined,
    maxImages: settings.maxImages,
    timeoutMs,
    pause: services.pause,
    onOutcome(outcome, description) {
      meters.images.add({ outcome });
      if (description === undefined) return;
      meters.visionTokens.add({ kind: "prompt" }, description.promptTokens);
      meters.visionTokens.add({ kind: "completion" }, description.completionTokens);
    },
    // Requests share a description, and one of them may be private: the server's message is not logged, whatever
    // `logContent` is.
    onFailure: (error) => log.warn("image not described", describeForLog(error)),
  };
}

/** The store's errors are ignored: a lost entry only costs a call. */
function toEntryDeps(settings: Settings, { store, onUnreadable }: MediaServices): EntryDeps {
  return {
    store: createForgivingStore(store),
    ttlSeconds: settings.storeTtlSeconds,
    onUnreadable,
  };
}
