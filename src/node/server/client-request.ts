/** A client's request whose body is there at once if it arrived together with the head, as short ones do. */
import { IncomingMessage } from "node:http";

export class ClientRequest extends IncomingMessage {
  #body: Buffer | undefined;

  /**
   * The whole body, if all of it has arrived and nobody has read it; until its end has been announced. `@hono/node-server`
   * looks here before it listens for the parts of a body and for its end: half the time to read a short one.
   */
  get rawBody(): Buffer | undefined {
    if (this.#body === undefined && this.#hasArrived) {
      const body: unknown = this.read();
      if (body instanceof Buffer) this.#body = body;
      // Not kept as long as the answer lasts.
      this.once("end", () => (this.#body = undefined));
      // The adapter drains a request that has not been read to its end.
      this.resume();
    }
    return this.#body;
  }

  get #hasArrived(): boolean {
    const { readableLength: length } = this;
    return length > 0 && !this.readableDidRead && Number(this.headers["content-length"]) === length;
  }
}
