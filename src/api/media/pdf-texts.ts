/** The texts of PDFs, each read once: they are kept in the store under the tenant. */
import * as z from "zod";
import { createEntries, type Entries, type EntryDeps } from "../../store/entries.ts";
import type { PdfText, ReadPdf } from "./read-pdf.ts";
import { TenantCalls, type Tenants } from "./tenant-calls.ts";
import { partOf, type ProcessState } from "../../lazy.ts";

export interface PdfTextsDeps extends EntryDeps {
  readonly readPdf: ReadPdf;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
  readonly state?: ProcessState;
}

const stored = z.lazy(() => z.object({ pages: z.array(z.string()), total: z.number() }));

/** A tenant's simultaneous readings. Each occupies a processor. */
const MAX_RUNNING = 1;

const callsIn = partOf((): Tenants => new Map());

export class PdfTexts {
  readonly #readPdf: ReadPdf;
  readonly #entries: Entries<z.output<typeof stored>>;
  readonly #calls: TenantCalls;

  constructor(deps: PdfTextsDeps) {
    this.#readPdf = deps.readPdf;
    this.#entries = createEntries("pdf", [stored], deps);
    // No reading hangs: its signal ends it, and Workers read no PDFs.
    const limits = { clock: deps.clock, maxRunning: MAX_RUNNING, longestMs: Infinity };
    this.#calls = new TenantCalls(limits, callsIn(deps.state));
  }

  /** Rejects with the signal's reason. */
  async read(
    tenant: string,
    digest: string,
    load: () => Promise<Uint8Array<ArrayBuffer> | undefined>,
    signal: AbortSignal,
  ): Promise<PdfText> {
    const known = await this.#entries.get(tenant, digest);
    if (known !== undefined) return { type: "text", ...known };
    const bytes = await load();
    if (bytes === undefined) return { type: "unreadable", why: "its data is not base64" };
    const read = await this.#calls.run(tenant, () => this.#readPdf(bytes, signal), {
      signal,
      isOutage: () => false,
    });
    if (read.type === "text") {
      await this.#entries.set({ pages: [...read.pages], total: read.total }, tenant, digest);
    }
    return read;
  }
}
