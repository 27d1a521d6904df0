/**
 * Bounds the bytes of request bodies and WebSocket messages that are being received, of images and files that are being read, of
 * replies until they are sent, or of responses that WebSockets hold: those of a tenant together, and those of all tenants by {@link TENANTS} times as much.
 */
import { Wait } from "../../streams/waiting.ts";
import { RequestError } from "../errors.ts";

/** The bytes that one body, message or response holds. */
export interface ByteLease {
  /** Changes how many bytes are held. @throws RequestError when there is no room for more */
  resize(bytes: number): void;
  /** The same as `resize(0)`. */
  release(): void;
}

/** A request whose client may leave while it waits. Reading its signal costs too much where there is room. */
type Leavable = Pick<Request, "signal">;

/** A body or message of so many bytes is not counted: the runtime buffers as much by itself. */
export const UNCOUNTED_BYTES = 65_536;

/** Tenants whose share fits into the whole. */
const TENANTS = 4;
/** How long a body waits for room while the runtime does not read it. */
const WAIT_MS = 10_000;
/** Most bodies of a tenant that wait. The runtime buffers the beginning of each. */
const MAX_WAITING = 256;

interface Waiting {
  readonly tenant: string;
  readonly bytes: number;
  /** Under the limits of the budget that it waits in. */
  hasRoom(): boolean;
  readonly wait: Wait<void>;
}

/** The bytes that are held, under whichever limits they came. */
export class HeldBytes {
  readonly byTenant = new Map<string, number>();
  sum = 0;
  /** In order of arrival. */
  readonly waiting = new Set<Waiting>();
}

export interface ByteBudgetOptions {
  /** Default: `receiving`. */
  readonly doing?: string;
  /** Those of the former budget, which this one continues under limits of its own. Default: none. */
  readonly held?: HeldBytes;
}

export class ByteBudget {
  readonly tenantBytes: number;
  readonly #doing: string;
  readonly #held: HeldBytes;

  constructor(tenantBytes: number, options: ByteBudgetOptions = {}) {
    const { doing = "receiving", held = new HeldBytes() } = options;
    this.tenantBytes = tenantBytes;
    this.#doing = doing;
    this.#held = held;
  }

  /** For a body whose length is known. Waits for room; rejects with a {@link RequestError} if there is none in time. */
  async reserve(tenant: string, bytes: number, request: Leavable): Promise<ByteLease> {
    const isFirst = this.#waitingOf(tenant) === 0;
    if (isFirst && this.#hasRoom(tenant, bytes)) this.#hold(tenant, bytes);
    else await this.#wait(tenant, bytes, request.signal);
    return this.#lease(tenant, bytes);
  }

  /** For bytes that were not announced: none at first. */
  open(tenant: string): ByteLease {
    return this.#lease(tenant, 0);
  }

  #lease(tenant: string, reserved: number): ByteLease {
    let held = reserved;
    const resize = (bytes: number) => {
      const more = bytes - held;
      if (more > 0 && !this.#hasRoom(tenant, more)) throw this.#refusal(tenant, more);
      held = bytes;
      this.#hold(tenant, more);
      if (more < 0) this.#admitWaiting();
    };
    return { resize, release: () => resize(0) };
  }

  /** Resolves when the bytes are held. */
  #wait(tenant: string, bytes: number, signal: AbortSignal): Promise<void> {
    if (this.#waitingOf(tenant) >= MAX_WAITING) throw this.#refusal(tenant, bytes);
    signal.throwIfAborted();
    const hasRoom = () => this.#hasRoom(tenant, bytes);
    const wait = new Wait<void>(signal, () => {
      // A smaller one may have waited behind it.
      if (this.#held.waiting.delete(waiting)) this.#admitWaiting();
    });
    const waiting: Waiting = { tenant, bytes, hasRoom, wait };
    const timer = setTimeout(() => wait.refuse(() => this.#refusal(tenant, bytes)), WAIT_MS);
    this.#held.waiting.add(waiting);
    return wait.limit(() => clearTimeout(timer)).promise;
  }

  /** In order within a tenant, so that large bodies are not overtaken by small ones for ever. */
  #admitWaiting(): void {
    const blocked = new Set<string>();
    for (const waiting of this.#held.waiting) {
      const { tenant, bytes } = waiting;
      if (blocked.has(tenant)) continue;
      if (!waiting.hasRoom()) {
        blocked.add(tenant);
        continue;
      }
      this.#held.waiting.delete(waiting);
      this.#hold(tenant, bytes);
      waiting.wait.grant();
    }
  }

  #waitingOf(tenant: string): number {
    let count = 0;
    for (const waiting of this.#held.waiting) if (waiting.tenant === tenant) count++;
    return count;
  }

  #hasRoom(tenant: string, bytes: number): boolean {
    return (
      this.#isWithinShare(tenant, bytes) && this.#held.sum + bytes <= TENANTS * this.tenantBytes
    );
  }

  #isWithinShare(tenant: string, bytes: number): boolean {
    return (this.#held.byTenant.get(tenant) ?? 0) + bytes <= this.tenantBytes;
  }

  #hold(tenant: string, more: number): void {
    const { byTenant } = this.#held;
    const held = (byTenant.get(tenant) ?? 0) + more;
    if (held > 0) byTenant.set(tenant, held);
    else byTenant.delete(tenant);
    this.#held.sum += more;
  }

  #refusal(tenant: string, bytes: number): RequestError {
    if (this.#isWithinShare(tenant, bytes)) {
      return new RequestError(
        `The gateway is ${this.#doing} too many large requests. Try again later.`,
        {
          status: 503,
          type: "server_error",
          errorType: "provider_overloaded",
          retryAfter: 1,
        },
      );
    }
    return new RequestError(
      `The gateway is ${this.#doing} requests of this key with more than ${this.tenantBytes} bytes together. Send fewer at a time.`,
      { status: 429, type: "rate_limit_error", errorType: "rate_limit_exceeded", retryAfter: 1 },
    );
  }
}
