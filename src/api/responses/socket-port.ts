/** Wraps a WebSocket for the session: sends with backpressure, and ends a connection whose client does not read. */
import type { WSContext } from "hono/ws";
import { sleep } from "../../streams/timers.ts";

export interface SocketPortOptions {
  /** Time for which the client may leave sent data unread. */
  readonly clientIdleTimeoutMs: number;
  /** Called when the client has left data unread for longer and the connection has been ended. */
  readonly onStalled: () => void;
}

/** The open state, with the same number in `ws` and browsers. */
const OPEN = 1;

/** Unsent bytes above which senders wait. */
const MAX_BUFFERED_BYTES = 1_048_576;

const FIRST_LOOK_MS = 10;
const LONGEST_LOOK_MS = 1000;

const POLICY_VIOLATION = 1008;

export class SocketPort {
  readonly #socket: WSContext;
  readonly #options: SocketPortOptions;
  /** Unsent bytes at the last look. */
  #unsent = 0;
  /** Whether the client has read data since the watch last looked. */
  #hasRead = false;
  #isWatched = false;
  /** Resolved when waiting senders may continue. */
  #room: PromiseWithResolvers<void> | undefined;

  constructor(socket: WSContext, options: SocketPortOptions) {
    this.#socket = socket;
    this.#options = options;
  }

  /** Sends a text message. Resolves when there is room for the next one, or the client has disconnected. */
  async send(message: string): Promise<void> {
    if (!this.#isOpen) return;
    this.#look();
    this.#socket.send(message);
    this.#unsent = bufferedBytes(this.#socket);
    if (this.#unsent === 0) return;
    if (!this.#isWatched) void this.#watch();
    if (this.#unsent > MAX_BUFFERED_BYTES) await (this.#room ??= Promise.withResolvers()).promise;
  }

  /** Pauses or resumes reading, so that TCP makes the client wait. Has no effect on runtimes that cannot pause. */
  pause(): void {
    callRaw(this.#socket, "pause");
  }

  resume(): void {
    callRaw(this.#socket, "resume");
  }

  /** Starts the closing handshake. */
  close(code: number, reason: string): void {
    this.#socket.close(code, reason);
  }

  /** Ends the connection at once, without a closing handshake if the runtime supports it. */
  terminate(): void {
    if (!callRaw(this.#socket, "terminate")) this.close(POLICY_VIOLATION, "");
  }

  get #isOpen(): boolean {
    return this.#socket.readyState === OPEN;
  }

  /** Notes whether the client has read: between two looks, only reading reduces the unsent bytes. */
  #look(): void {
    const now = bufferedBytes(this.#socket);
    if (now < this.#unsent) this.#hasRead = true;
    this.#unsent = now;
  }

  /** The only timer of the connection while data is unsent. Its interval grows while the client reads nothing. */
  async #watch(): Promise<void> {
    this.#isWatched = true;
    let unreadMs = 0;
    while (this.#isOpen && this.#unsent > 0 && unreadMs < this.#options.clientIdleTimeoutMs) {
      const waitMs = Math.min(FIRST_LOOK_MS + unreadMs / 10, LONGEST_LOOK_MS);
      await sleep(waitMs);
      this.#look();
      unreadMs = this.#hasRead ? 0 : unreadMs + waitMs;
      this.#hasRead = false;
      if (this.#unsent <= MAX_BUFFERED_BYTES) this.#letSend();
    }
    this.#isWatched = false;
    this.#letSend();
    if (!this.#isOpen || this.#unsent === 0) return;
    this.#options.onStalled();
    // A closing handshake would be queued after the unread data.
    this.terminate();
  }

  #letSend(): void {
    this.#room?.resolve();
    this.#room = undefined;
  }
}

/** Calls a method that only Node's sockets have. Returns false if it is missing. */
function callRaw({ raw }: WSContext, name: "pause" | "resume" | "terminate"): boolean {
  if (typeof raw !== "object" || raw === null) return false;
  const method: unknown = Reflect.get(raw, name);
  if (typeof method !== "function") return false;
  Reflect.apply(method, raw, []);
  return true;
}

/** The unsent bytes. 0 if the runtime does not report them. */
function bufferedBytes({ raw }: WSContext): number {
  const isSocket = typeof raw === "object" && raw !== null && "bufferedAmount" in raw;
  return isSocket ? Number(raw.bufferedAmount) : 0;
}
