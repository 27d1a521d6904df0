/** The part that is being written: its text so far, and the events of that text. */
import type { TokenLogprob } from "../../engines/engine.ts";
import type { Part, TurnEvent } from "../turn.ts";
import { type CitedText, NO_CITATIONS, type TextReader } from "./citations.ts";

export class OpenPart {
  readonly part: Part;
  /** The text so far, emitted or held. */
  text = "";
  /** Characters of white space at the end of the text. */
  blankTail = 0;
  /** Whether the start event exists. It is created with the first text, because a part without text is not shown. */
  isStarted = false;
  /** Undefined: the text stays unchanged. */
  readonly #reader: TextReader | undefined;
  /** Citations found after the last text. */
  #citations = NO_CITATIONS;

  constructor(part: Part, reader: TextReader | undefined) {
    this.part = part;
    this.#reader = reader;
  }

  /** Whether further text becomes one event with unchanged text. */
  get isPlain(): boolean {
    return this.isStarted && this.#reader === undefined;
  }

  /** Returns the events of this text. Removes the values of this text from `logprobs`. */
  write(text: string, logprobs: TokenLogprob[]): TurnEvent[] {
    const read = this.#reader ? this.#reader.push(text) : { text, citations: NO_CITATIONS };
    return this.#show(read, logprobs);
  }

  /**
   * Returns the last events.
   * @param isShown true: the part is shown even without text
   */
  end(logprobs: TokenLogprob[], isShown = false): TurnEvent[] {
    const events = this.#reader ? this.#show(this.#reader.end(), logprobs) : [];
    // Removed markers at the end of the answer leave no text for their citations.
    if (this.#citations.length > 0 || (isShown && !this.isStarted)) {
      events.push(...this.#toEvents("", logprobs));
    }
    if (this.isStarted) events.push({ type: "part-end" });
    return events;
  }

  #show({ text, citations }: CitedText, logprobs: TokenLogprob[]): TurnEvent[] {
    if (citations.length > 0) this.#citations = [...this.#citations, ...citations];
    return text === "" ? [] : this.#toEvents(text, logprobs);
  }

  #toEvents(text: string, logprobs: TokenLogprob[]): TurnEvent[] {
    this.text += text;
    const written = text.trimEnd().length;
    this.blankTail = text.length - written + (written === 0 ? this.blankTail : 0);
    const citations = this.#citations;
    this.#citations = NO_CITATIONS;
    const delta: TurnEvent = {
      type: "part-delta",
      text,
      ...(logprobs.length > 0 && { logprobs: logprobs.splice(0) }),
      ...(citations.length > 0 && { citations }),
    };
    if (this.isStarted) return [delta];
    this.isStarted = true;
    return [{ type: "part-start", part: this.part }, delta];
  }
}
