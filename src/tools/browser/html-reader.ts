/**
 * Reads HTML as tags and text, with the end tags that authors leave out.
 *
 * htmlparser2's own parser keeps the open tags in a list that it searches and moves with each tag, which is quadratic
 * for a page that closes no tags. Here the cost of a tag does not depend on the open ones.
 */
import type { TokenizerCallbacks } from "htmlparser2";

export interface HtmlHandler {
  open(name: string, attributes: Attributes): void;
  close(name: string): void;
  text(text: string): void;
}

/** The attributes that a page's text depends on. */
export interface Attributes {
  readonly href?: string;
  readonly alt?: string;
}

/** Maximum characters of an attribute. The rest is left out. */
export const MAX_ATTRIBUTE = 4096;

/** Maximum characters of a piece of text. */
const MAX_TEXT = 16_384;

/** Elements without content. */
const VOID = new Set(
  "area base basefont br col command embed frame hr img input isindex keygen link meta param source track wbr".split(
    " ",
  ),
);

const OPTIONS = new Set(["option", "optgroup"]);
const CHOICES = new Set(["select", ...OPTIONS]);
/**
 * Elements that end where one of the listed tags begins. All others end with the element that contains them, which does
 * not affect text.
 */
const ENDED_BY = new Map([
  ["body", new Set(["head"])],
  ["option", new Set(["option"])],
  ["optgroup", OPTIONS],
  ["select", CHOICES],
  ["input", CHOICES],
  ["button", CHOICES],
  ["textarea", CHOICES],
]);

/** Receives positions in `html` from htmlparser2's tokenizer, which reads `html` in pieces, in order. */
export class HtmlReader implements TokenizerCallbacks {
  readonly #html: string;
  readonly #handler: HtmlHandler;
  /** Names of the open elements, outermost first. */
  readonly #open: string[] = [];
  /** The number of open elements of each name. */
  readonly #counts = new Map<string, number>();
  /** Start of the text that has not been passed on: htmlparser2 ends a piece at each bracket, tag or not. */
  #textStart = 0;
  #textEnd = 0;
  #tag = "";
  #attributes: { href?: string; alt?: string } = {};
  #attribute: keyof Attributes | undefined;
  #value = "";

  constructor(html: string, handler: HtmlHandler) {
    this.#html = html;
    this.#handler = handler;
  }

  ontext(start: number, end: number): void {
    if (start !== this.#textEnd || end - this.#textStart > MAX_TEXT) {
      this.#flush();
      this.#textStart = start;
    }
    this.#textEnd = end;
  }

  ontextentity(codePoint: number): void {
    this.#flush();
    this.#handler.text(String.fromCodePoint(codePoint));
  }

  onopentagname(start: number, end: number): void {
    this.#flush();
    const name = this.#nameAt(start, end);
    this.#tag = name === "image" ? "img" : name;
    this.#attributes = {};
    const ended = ENDED_BY.get(this.#tag);
    for (let last = this.#open.at(-1); ended?.has(last ?? ""); last = this.#open.at(-1))
      this.#pop();
    if (VOID.has(this.#tag)) return;
    this.#open.push(this.#tag);
    this.#counts.set(this.#tag, this.#countOf(this.#tag) + 1);
  }

  onattribname(start: number, end: number): void {
    // Names of more than four characters are not copied: most attributes are `class` and `style`.
    const name = end - start > 4 ? "" : this.#nameAt(start, end);
    const isWanted = (name === "href" || name === "alt") && this.#attributes[name] === undefined;
    this.#attribute = isWanted ? name : undefined;
    this.#value = "";
  }

  onattribdata(start: number, end: number): void {
    if (this.#attribute === undefined) return;
    const room = MAX_ATTRIBUTE - this.#value.length;
    this.#value += this.#html.slice(start, Math.min(end, start + room));
  }

  onattribentity(codePoint: number): void {
    if (this.#attribute === undefined || this.#value.length >= MAX_ATTRIBUTE) return;
    this.#value += String.fromCodePoint(codePoint);
  }

  onattribend(): void {
    if (this.#attribute !== undefined) this.#attributes[this.#attribute] = this.#value;
  }

  onopentagend(): void {
    this.#handler.open(this.#tag, this.#attributes);
  }

  onselfclosingtag(): void {
    this.onopentagend();
    // Only elements of drawings and formulas may be self-closing.
    if (this.isInForeignContext() && this.#open.at(-1) === this.#tag) this.#pop();
  }

  onclosetag(start: number, end: number): void {
    this.#flush();
    const name = this.#nameAt(start, end);
    if (this.#countOf(name) === 0) {
      // Browsers read `</br>` and `</p>` as a line break and an empty paragraph.
      if (name === "br" || name === "p") this.#handler.open(name, {});
      return;
    }
    while (this.#open.at(-1) !== name) this.#pop();
    this.#pop();
  }

  isInForeignContext(): boolean {
    return this.#countOf("svg") > 0 || this.#countOf("math") > 0;
  }

  oncdata(): void {}
  oncomment(): void {}
  ondeclaration(): void {}
  onprocessinginstruction(): void {}

  onend(): void {
    this.#flush();
  }

  #flush(): void {
    if (this.#textEnd > this.#textStart) {
      this.#handler.text(this.#html.slice(this.#textStart, this.#textEnd));
    }
    this.#textStart = this.#textEnd;
  }

  #pop(): void {
    const name = this.#open.pop();
    if (name === undefined) return;
    this.#counts.set(name, this.#countOf(name) - 1);
    this.#handler.close(name);
  }

  #countOf(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  #nameAt(start: number, end: number): string {
    return this.#html.slice(start, end).toLowerCase();
  }
}
