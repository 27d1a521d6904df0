/** A WebSocket as the session uses it: sends with backpressure, and ends a connection whose client does not read. */
import type { WSContext } from "hono/ws";
import { sleep } from "../../streams/timers.ts";

export interface SocketPortOptions {
  /** How long the client may leave sent data unread. */
  readonly clientIdleTimeoutMs: number;
  /** The client has left data unread for longer: the connection has been ended. */
  readonly onStalled: () => void;
}

/** `ws` and browsers number the states alike. */
const OPEN = 1;

/** Unsent bytes above which senders wait. */
const MAX_BUFFERED_BYTES = 1_048_576;

const FIRST_LOOK_MS = 10;
const LONGEST_LOOK_MS = 1000;

const POLICY_VIOLATION = 1008;

export class SocketPort {
  readonly #socket: WSContext;
  readonly #options: SocketPortOptions;
  /** Unsent bytes when the port last looked. */
  #unsent = 0;
  /** The client has read something since the watch last looked. */
  #hasRead = false;
  #isWatched = false;
  /** Senders that wait for room. */
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

  /** Pauses or resumes reading, so that TCP makes the client wait. No effect where the runtime cannot do it. */
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

  /** Ends the connection at once, without a closing handshake where the runtime can do it. */
  terminate(): void {
    if (!callRaw(this.#socket, "terminate")) this.close(POLICY_VIOLATION, "");
  }

  get #isOpen(): boolean {
    return this.#socket.readyState === OPEN;
  }

  /** Between two looks only the client's reading makes the unsent bytes fewer. */
  #look(): void {
    const now = bufferedBytes(this.#socket);
    if (now < this.#unsent) this.#hasRead = true;
    this.#unsent = now;
  }

  /** The only timer of the connection while data is unsent. It looks ever less often at a client that reads nothing. */
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
    // A closing handshake would wait behind the unread data.
    this.terminate();
  }

  #letSend(): void {
    this.#room?.resolve();
    this.#room = undefined;
  }
}

/** Calls what only Node's sockets can do. Returns false where the runtime cannot. */
function callRaw({ raw }: WSContext, name: "pause" | "resume" | "terminate"): boolean {
  if (typeof raw !== "object" || raw === null) return false;
  const method: unknown = Reflect.get(raw, name);
  if (typeof method !== "function") return false;
  Reflect.apply(method, raw, []);
  return true;
}

/** 0 where the runtime does not report it. */
function bufferedBytes({ raw }: WSContext): number {
  const isSocket = typeof raw === "object" && raw !== null && "bufferedAmount" in raw;
  return isSocket ? Number(raw.bufferedAmount) : 0;
}
