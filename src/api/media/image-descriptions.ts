/**
 * Descriptions of images, each made once: they are kept in the store under the tenant, and requests for the same image at the same
 * time share one call.
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

/** Where an image comes from: the same has the same description. */
export interface ImageKey {
  readonly tenant: string;
  /** A hash of the data or the address. */
  readonly digest: string;
  readonly isBrief: boolean;
}

export interface ImageDescriptionsDeps extends EntryDeps {
  readonly vision: VisionModel;
  /** Of one call, whoever waits for it. */
  readonly timeoutMs: number;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
  readonly state?: ProcessState;
}

export interface SharedDescription extends Description {
  /** Another request has made the call. */
  readonly isShared: boolean;
}

/** Gets the image's bytes once it is its turn. */
export type LoadImage = (signal: AbortSignal) => Promise<Pick<VisionImage, "mediaType" | "base64">>;

/** Of one tenant at a time. */
const MAX_RUNNING = 4;

const stored = z.lazy(() => z.object({ text: z.string() }));

const callsIn = partOf((): Tenants => new Map());

export class ImageDescriptions {
  readonly #deps: ImageDescriptionsDeps;
  readonly #entries: Entries<z.output<typeof stored>>;
  readonly #flights = new Map<string, Flight>();
  readonly #calls: TenantCalls;
  /** Longest time that a call takes. On Workers, that of a cancelled request never ends. */
  readonly #longestMs: number;

  constructor(deps: ImageDescriptionsDeps) {
    this.#deps = deps;
    this.#entries = createEntries("image", [stored], deps);
    // It may also wait for so long.
    this.#longestMs = 2 * deps.timeoutMs;
    const limits = { clock: deps.clock, maxRunning: MAX_RUNNING, longestMs: this.#longestMs };
    this.#calls = new TenantCalls(limits, callsIn(deps.state));
  }

  /** The text of an earlier description. */
  async find(key: ImageKey): Promise<string | undefined> {
    return (await this.#entries.get(key.tenant, ...this.#idOf(key)))?.text;
  }

  /** Rejects as loading and describing do, or with the signal's reason. Others that wait for the image are not affected. */
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

/** The server's failure: of an image that it refuses, the next one is not to suffer. */
export function isOutage(error: unknown): boolean {
  if (error instanceof EngineError) return error.kind !== "bad-request";
  return error instanceof DOMException && error.name === "TimeoutError";
}

interface Call {
  readonly key: ImageKey;
  readonly load: LoadImage;
  readonly onStart: () => void;
}

/** A call that several requests may wait for. It is given up if nobody waits for it any more before it starts. */
class Flight {
  /** Nobody joins it later. */
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
    // Nobody may be waiting when it fails.
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
