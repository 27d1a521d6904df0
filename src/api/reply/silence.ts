/**
 * Keep-alives of a stream: one is sent when no frame has been for `keepAliveMs`, or for up to a quarter less. On runtimes that
 * do not announce it, the write of one is also what shows that a client has left.
 *
 * The time is counted in quarters, because a timer for each frame would cost more than the frame.
 */
const QUARTERS = 4;

export class Silence {
  #quarters = 0;
  readonly #timer: ReturnType<typeof setInterval>;

  /** @param write sends a keep-alive. False: the client has no room for it now. */
  constructor(keepAliveMs: number, write: () => boolean) {
    this.#timer = setInterval(() => {
      this.#quarters += 1;
      if (this.#quarters >= QUARTERS && write()) this.#quarters = 0;
    }, keepAliveMs / QUARTERS);
  }

  /** A frame is sent. */
  end(): void {
    this.#quarters = 0;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
