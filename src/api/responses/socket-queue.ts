/** The requests of a WebSocket that wait for their turn. When there are too many, the connection is not read. */
import type { SocketPort } from "./socket-port.ts";

/** Queued requests at which reading pauses. */
const PAUSE_AT = 2;
/** Maximum queued requests where reading cannot be paused, or more had already been read. */
const MAX_WAITING = 32;

export class SocketQueue {
  readonly #port: Pick<SocketPort, "pause" | "resume">;
  readonly #maxBytes: number;
  #messages: string[] = [];
  #size = 0;
  #isPaused = false;

  /** `maxBytes`: the limit for all queued messages together. */
  constructor(port: Pick<SocketPort, "pause" | "resume">, maxBytes: number) {
    this.#port = port;
    this.#maxBytes = maxBytes;
  }

  /** Characters of all queued messages. */
  get size(): number {
    return this.#size;
  }

  hasRoomFor(message: string): boolean {
    const fits = this.#size + message.length <= this.#maxBytes;
    return fits && this.#messages.length < MAX_WAITING;
  }

  add(message: string): void {
    this.#messages.push(message);
    this.#size += message.length;
  }

  /** Removes the oldest message. Undefined: the queue is empty. */
  next(): string | undefined {
    const message = this.#messages.shift();
    this.#size -= message?.length ?? 0;
    return message;
  }

  clear(): void {
    this.#messages = [];
    this.#size = 0;
    this.pauseWhenFull();
  }

  /** Pauses reading at half of the limit, because a partially received message is read to its end. Otherwise resumes it. */
  pauseWhenFull(): void {
    const isFull = this.#messages.length >= PAUSE_AT || this.#size > this.#maxBytes / 2;
    if (isFull === this.#isPaused) return;
    this.#isPaused = isFull;
    if (isFull) this.#port.pause();
    else this.#port.resume();
  }
}
