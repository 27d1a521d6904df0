/**
 * Descriptions of images, each made once: they are kept in the store under the tenant, and simultaneous requests for
 * one image share one call.
 */
import * as z from "zod";
import { EngineError } from "../../engines/engine-error.ts";
import { createEntries, type Entries, type EntryDeps } from "../../store/entries.ts";
import { unlessAborted } from "../../streams/unless-aborted.ts";
import { TenantCalls, type Tenants } from "./tenant-calls.ts";
import { partOf, type ProcessState } from "../../lazy.ts";
import {
  type Description,
  PROMPT_VERSION,
  type VisionImage,
  type VisionModel,
} from "./vision-model.ts";

/** Key of an image: equal keys have equal descriptions. */
export interface ImageKey {
  readonly tenant: string;
  /** A hash of the data or the address. */
  readonly digest: string;
  readonly isBrief: boolean;
}

export interface ImageDescriptionsDeps extends EntryDeps {
  readonly vision: VisionModel;
  /** Limit of one call, however many requests wait for it. */
  readonly timeoutMs: number;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
  readonly state?: ProcessState;
}

export interface SharedDescription extends Description {
  /** Whether another request has made the call. */
  readonly isShared: boolean;
}

/** Loads the image's bytes, when a call for it starts. */
export type LoadImage = (signal: AbortSignal) => Promise<Pick<VisionImage, "mediaType" | "base64">>;

/** Maximum number of a tenant's simultaneous calls. */
const MAX_RUNNING = 4;

const stored = z.lazy(() => z.object({ text: z.string() }));

const callsIn = partOf((): Tenants => new Map());

export class ImageDescriptions {
  readonly #deps: ImageDescriptionsDeps;
  readonly #entries: Entries<z.output<typeof stored>>;
  readonly #flights = new Map<string, Flight>();
  readonly #calls: TenantCalls;
  /** Longest time that a call takes. On Workers, the call of a cancelled request never ends. */
  readonly #longestMs: number;

  constructor(deps: ImageDescriptionsDeps) {
    this.#deps = deps;
    this.#entries = createEntries("image", [stored], deps);
    // A call may also wait as long as it may run.
    this.#longestMs = 2 * deps.timeoutMs;
    const limits = { clock: deps.clock, maxRunning: MAX_RUNNING, longestMs: this.#longestMs };
    this.#calls = new TenantCalls(limits, callsIn(deps.state));
  }

  /** The text of an earlier description. */
  async find(key: ImageKey): Promise<string | undefined> {
    return (await this.#entries.get(key.tenant, ...this.#idOf(key)))?.text;
  }

  /**
   * Rejects with the error of loading or describing, or with the signal's reason. Other requests that wait for the
   * image are not affected.
   */
  async describe(key: ImageKey, load: LoadImage, signal: AbortSignal): Promise<SharedDescription> {
    const name = JSON.stringify([key.tenant, ...this.#idOf(key)]);
    const now = this.#deps.clock();
    const known = this.#flights.get(name);
    if (known !== undefined && now < known.endsBy) {
      return { ...(await known.join(signal)), isShared: true };
    }
    const flight: Flight = new Flight(
      now + this.#longestMs,
      (queued, onStart) => this.#run({ key, load, onStart }, queued),
      () => {
        if (this.#flights.get(name) === flight) this.#flights.delete(name);
      },
    );
    this.#flights.set(name, flight);
    return { ...(await flight.join(signal)), isShared: false };
  }

  async #run({ key, load, onStart }: Call, queued: AbortSignal): Promise<Description> {
    const { vision, timeoutMs } = this.#deps;
    const { tenant, isBrief } = key;
    const call = async () => {
      onStart();
      const signal = AbortSignal.timeout(timeoutMs);
      const image = await load(signal);
      return vision.describe({ ...image, isBrief }, signal);
    };
    const description = await this.#calls.run(tenant, call, { signal: queued, isOutage });
    await this.#entries.set({ text: description.text }, tenant, ...this.#idOf(key));
    return description;
  }

  #idOf({ digest, isBrief }: ImageKey): string[] {
    return [digest, this.#deps.vision.name, PROMPT_VERSION, isBrief ? "brief" : "full"];
  }
}

/** Whether the server has failed. A refused image must not affect the next one. */
export function isOutage(error: unknown): boolean {
  if (error instanceof EngineError) return error.kind !== "bad-request";
  return error instanceof DOMException && error.name === "TimeoutError";
}

interface Call {
  readonly key: ImageKey;
  readonly load: LoadImage;
  readonly onStart: () => void;
}

/** A call that several requests may wait for. It is cancelled if the last of them leaves before it starts. */
class Flight {
  /** Time after which no request joins the call. */
  readonly endsBy: number;
  readonly #result: Promise<Description>;
  readonly #queued = new AbortController();
  readonly #onOver: () => void;
  #hasStarted = false;
  #waiting = 0;

  constructor(
    endsBy: number,
    run: (queued: AbortSignal, onStart: () => void) => Promise<Description>,
    onOver: () => void,
  ) {
    this.endsBy = endsBy;
    this.#onOver = onOver;
    const onStart = (): void => {
      this.#hasStarted = true;
    };
    this.#result = run(this.#queued.signal, onStart).finally(onOver);
    // The call may fail when no request waits for it any more.
    this.#result.catch(() => undefined);
  }

  async join(signal: AbortSignal): Promise<Description> {
    this.#waiting += 1;
    try {
      return await unlessAborted(this.#result, signal);
    } finally {
      this.#waiting -= 1;
      if (this.#waiting === 0 && !this.#hasStarted) {
        this.#onOver();
        this.#queued.abort();
      }
    }
  }
}
