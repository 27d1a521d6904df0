/**
 * Bounds the bytes of request bodies and WebSocket messages while they are received, of images and files while they are
 * read, of replies until they are sent, or of responses that WebSockets hold: per tenant, and for all tenants together
 * by {@link TENANTS} times as much.
 */
import { Wait } from "../../streams/waiting.ts";
import { RequestError } from "../errors.ts";

/** The bytes that one body, message or response holds. */
export interface ByteLease {
  /** Changes the number of held bytes. @throws RequestError when there is no room for more */
  resize(bytes: number): void;
  /** Like `resize(0)`. */
  release(): void;
}

/**
 * A request whose client may leave while it waits. Its signal is read only if it waits, because reading it is
 * expensive.
 */
type Leavable = Pick<Request, "signal">;

/** Bodies and messages up to this size are not counted: the runtime itself buffers as much. */
export const UNCOUNTED_BYTES = 65_536;

/** Number of tenants whose shares fit into the whole budget. */
const TENANTS = 4;
/** Time for which a body waits for room, while the runtime does not read it. */
const WAIT_MS = 10_000;
/** Maximum number of a tenant's waiting bodies. The runtime buffers the beginning of each. */
const MAX_WAITING = 256;

interface Waiting {
  readonly tenant: string;
  readonly bytes: number;
  /** Whether the budget in which the body waits has room for it. */
  hasRoom(): boolean;
  readonly wait: Wait<void>;
}

/** The held bytes, shared by budgets with different limits. */
export class HeldBytes {
  readonly byTenant = new Map<string, number>();
  sum = 0;
  /** Waiting bodies in order of arrival. */
  readonly waiting = new Set<Waiting>();
}

export interface ByteBudgetOptions {
  /** The activity in error messages. Default: `receiving`. */
  readonly doing?: string;
  /** The held bytes of a former budget, which this one continues with its own limits. Default: none. */
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

  /**
   * Reserves bytes for a body of known length. Waits for room; rejects with a {@link RequestError} if there is none in
   * time.
   */
  async reserve(tenant: string, bytes: number, request: Leavable): Promise<ByteLease> {
    const isFirst = this.#waitingOf(tenant) === 0;
    if (isFirst && this.#hasRoom(tenant, bytes)) this.#hold(tenant, bytes);
    else await this.#wait(tenant, bytes, request.signal);
    return this.#lease(tenant, bytes);
  }

  /** Opens a lease for a body of unknown length. It holds no bytes at first. */
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

  /** Resolves when the bytes are reserved. */
  #wait(tenant: string, bytes: number, signal: AbortSignal): Promise<void> {
    if (this.#waitingOf(tenant) >= MAX_WAITING) throw this.#refusal(tenant, bytes);
    signal.throwIfAborted();
    const hasRoom = () => this.#hasRoom(tenant, bytes);
    const wait = new Wait<void>(signal, () => {
      // A smaller body may have waited behind this one.
      if (this.#held.waiting.delete(waiting)) this.#admitWaiting();
    });
    const waiting: Waiting = { tenant, bytes, hasRoom, wait };
    const timer = setTimeout(() => wait.refuse(() => this.#refusal(tenant, bytes)), WAIT_MS);
    this.#held.waiting.add(waiting);
    return wait.limit(() => clearTimeout(timer)).promise;
  }

  /** Admits bodies in order within a tenant, so that small bodies do not overtake large ones forever. */
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
          retryAfter: 1,
        },
      );
    }
    return new RequestError(
      `The gateway is ${this.#doing} requests of this key with more than ${this.tenantBytes} bytes together. Send fewer at a time.`,
      { status: 429, retryAfter: 1 },
    );
  }
}
