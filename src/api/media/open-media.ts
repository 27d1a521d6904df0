/** Creates what reads the images of requests, by the operator's settings. */
import type { Settings } from "../../config/settings.ts";
import type { Transport } from "../../engines/transport.ts";
import type { EntryDeps } from "../../store/entries.ts";
import { createForgivingStore } from "../../store/forgiving-store.ts";
import type { GuardedStore } from "../../store/guarded-store.ts";
import type { Log } from "../../telemetry/log.ts";
import { describeForLog } from "../../telemetry/describe-for-log.ts";
import type { Meters } from "../../telemetry/meters.ts";
import type { RequestPage } from "../../tools/browser/fetch-page.ts";
import { createImageFetch } from "./fetch-image.ts";
import { ImageDescriptions } from "./image-descriptions.ts";
import { RequestMedia } from "./request-media.ts";
import { createVisionModel } from "./vision-model.ts";

export interface MediaServices {
  readonly store: GuardedStore;
  readonly onUnreadable: EntryDeps["onUnreadable"];
  readonly log: Log;
  readonly meters: Meters;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
  readonly transport: Transport;
  /** Absent: images behind addresses are not fetched. */
  readonly requestPage?: RequestPage | undefined;
}

/** Begins to read the images of a request of this tenant. */
export type OpenMedia = (tenant: string) => RequestMedia;

/** Undefined: there is no vision model. */
export function createOpenMedia(
  settings: Settings,
  services: MediaServices,
): OpenMedia | undefined {
  const { visionUrl: url, visionModel: model } = settings;
  if (url === undefined || model === undefined) return undefined;
  const { log, meters, clock, transport, requestPage } = services;
  const { connectTimeoutMs, visionTimeoutMs: timeoutMs, mediaHosts } = settings;
  const deps = {
    descriptions: new ImageDescriptions({
      vision: createVisionModel({
        url,
        model,
        key: settings.visionKey,
        connectTimeoutMs,
        transport,
      }),
      store: createForgivingStore(services.store),
      ttlSeconds: settings.storeTtlSeconds,
      onUnreadable: services.onUnreadable,
      timeoutMs,
      clock,
    }),
    fetchImage:
      requestPage && mediaHosts.length > 0 ? createImageFetch(mediaHosts, requestPage) : undefined,
    maxImages: settings.maxImages,
    timeoutMs,
    onOutcome(outcome, description) {
      meters.images.add({ outcome });
      if (description === undefined) return;
      meters.visionTokens.add({ kind: "prompt" }, description.promptTokens);
      meters.visionTokens.add({ kind: "completion" }, description.completionTokens);
    },
    onFailure: (error) => log.warn("image not described", describeForLog(error, settings)),
  } satisfies ConstructorParameters<typeof RequestMedia>[1];
  return (tenant) => new RequestMedia(tenant, deps);
}
