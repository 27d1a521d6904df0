/**
 * The waiting requests of a WebSocket, unread or in their lanes. When there are too many, reading from the connection
 * pauses.
 */
import type { SocketPort } from "./socket-port.ts";

/** Number of waiting requests at which reading pauses. */
const PAUSE_AT = 32;
/** Maximum waiting requests if reading cannot be paused, or more have already been read. */
const MAX_WAITING = 128;

export class SocketQueue {
  readonly #port: Pick<SocketPort, "pause" | "resume">;
  readonly #maxBytes: number;
  /** Messages that are not assigned to a lane yet. */
  #unread: string[] = [];
  #waiting = 0;
  #size = 0;
  #isPaused = false;

  /** `maxBytes`: the limit for all waiting messages together. */
  constructor(port: Pick<SocketPort, "pause" | "resume">, maxBytes: number) {
    this.#port = port;
    this.#maxBytes = maxBytes;
  }

  /** Characters of all waiting messages. */
  get size(): number {
    return this.#size;
  }

  hasRoomFor(message: string): boolean {
    const fits = this.#size + message.length <= this.#maxBytes;
    return fits && this.#waiting < MAX_WAITING;
  }

  add(message: string): void {
    this.#unread.push(message);
    this.#waiting += 1;
    this.#size += message.length;
  }

  /** The oldest unread message. It counts as waiting until it is released. Undefined: all are read. */
  next(): string | undefined {
    return this.#unread.shift();
  }

  /** Called when the message no longer waits. */
  release(message: string): void {
    this.#waiting -= 1;
    this.#size -= message.length;
  }

  /** Removes the unread messages. */
  clear(): void {
    for (const message of this.#unread.splice(0)) this.release(message);
    this.pauseWhenFull();
  }

  /**
   * Pauses reading at half of the limit, because a partially received message is read to its end. Otherwise resumes
   * reading.
   */
  pauseWhenFull(): void {
    const isFull = this.#waiting >= PAUSE_AT || this.#size > this.#maxBytes / 2;
    if (isFull === this.#isPaused) return;
    this.#isPaused = isFull;
    if (isFull) this.#port.pause();
    else this.#port.resume();
  }
}
