/**
 * Converts a page's HTML to the text that the model was trained to read: links as `【{id}†text】`, or
 * `【{id}†text†domain】` if they lead to another site, and a simple form of Markdown for the rest.
 */
import { runInSlices, type SliceOptions } from "../../streams/slices.ts";
import { type Attributes, type HtmlHandler, HtmlReader } from "./html-reader.ts";

export interface PageText {
  readonly title: string;
  readonly text: string;
  readonly links: readonly string[];
}

/** Maximum number of links. Further ones keep their text only. */
const MAX_LINKS = 2000;
/** Maximum addresses that are resolved, higher because many are invalid. */
const MAX_TARGETS = 2 * MAX_LINKS;

/** Maximum characters of the text, of the title, and of a link's address. */
const MAX_TEXT = 1_000_000;
const MAX_TITLE = 300;
/** Maximum characters of a title in HTML, including white space. */
const MAX_TITLE_HTML = 2000;
const MAX_HREF = 2048;

/** Characters of HTML between two pauses: a few milliseconds for any content. */
const STEP = 16_384;

/**
 * Never fails, for any HTML. The parser is loaded with the first page: its tables of named characters, which few
 * processes need, take some milliseconds to unpack.
 *
 * @param url the page's address, to which links are relative.
 */
export async function htmlToText(
  html: string,
  url: string,
  slices: SliceOptions,
): Promise<PageText> {
  const { Tokenizer } = await import("./html-parser.ts");
  return runInSlices(convert(html, url, Tokenizer), slices);
}

function* convert(
  html: string,
  url: string,
  Tokenizer: (typeof import("./html-parser.ts"))["Tokenizer"],
): Generator<number, PageText> {
  const writer = new PageWriter(url);
  const tokenizer = new Tokenizer({ decodeEntities: true }, new HtmlReader(html, writer));
  for (let at = 0; at < html.length && !writer.isFull; at += STEP) {
    tokenizer.write(html.slice(at, at + STEP));
    yield at;
  }
  tokenizer.end();
  return writer.end();
}

/** Tags whose content is not part of the page's text. */
const SKIPPED = new Set(
  "script style noscript template svg math iframe object head nav-menu select option canvas".split(
    " ",
  ),
);
/** Tags that end a paragraph. */
const BLOCKS = new Set(
  "p div section article main header footer aside nav address blockquote figure figcaption form fieldset table details summary dl h1 h2 h3 h4 h5 h6 ul ol pre hr".split(
    " ",
  ),
);

interface OpenLink {
  readonly href: string;
  /** The first piece of the line that belongs to the link. */
  readonly start: number;
}

/** Each piece of text is visited a fixed number of times, however many lie between two ends of a line. */
class PageWriter implements HtmlHandler {
  readonly #base: URL | null;
  /** Numbers of links by address. */
  readonly #links = new Map<string, number>();
  /** Targets by the page's spelling of the address. */
  readonly #targets = new Map<string, URL | undefined>();
  readonly #lists: { readonly ordered: boolean; items: number }[] = [];
  readonly #out: string[] = [];
  #length = 0;
  /** Pieces of the current line, none of them empty. */
  #line: string[] = [];
  /** Prefix of the next line: a bullet, a quotation mark. */
  #prefix = "";
  #quotes = 0;
  #skipping: string | undefined;
  #skipDepth = 0;
  #preformatted = 0;
  #link: OpenLink | undefined;
  #images = 0;
  #title = "";
  #inTitle = false;
  #cells = 0;

  constructor(url: string) {
    this.#base = URL.parse(url);
  }

  /** Whether the text is full, so that further HTML would not be shown. */
  get isFull(): boolean {
    return this.#length > MAX_TEXT;
  }

  open(name: string, attributes: Attributes): void {
    if (name === "title" && this.#title === "") this.#inTitle = true;
    if (this.#skipping !== undefined) {
      if (name === this.#skipping) this.#skipDepth++;
      return;
    }
    if (SKIPPED.has(name)) {
      this.#skipping = name;
      this.#skipDepth = 1;
      return;
    }
    if (BLOCKS.has(name)) this.#endParagraph();
    switch (name) {
      case "h1":
      case "h2":
      case "h3":
      case "h4":
      case "h5":
      case "h6":
        this.#prefix = `${"#".repeat(Number(name.slice(1)))} `;
        break;
      case "ul":
      case "ol":
        this.#lists.push({ ordered: name === "ol", items: 0 });
        break;
      case "li":
        this.#openItem();
        break;
      case "dt":
      case "dd":
        this.#endLine();
        if (name === "dd") this.#prefix = "    ";
        break;
      case "tr":
        this.#endLine();
        this.#cells = 0;
        break;
      case "td":
      case "th":
        if (this.#cells++ > 0) this.#line.push(" | ");
        break;
      case "br":
        this.#endLine();
        break;
      case "hr":
        this.#line.push("* * *");
        this.#endParagraph();
        break;
      case "pre":
        this.#preformatted++;
        break;
      case "blockquote":
        this.#quotes++;
        break;
      case "sup":
        this.#line.push("^{");
        break;
      case "sub":
        this.#line.push("_{");
        break;
      case "img":
        this.#image(attributes.alt);
        break;
      case "a":
        this.#closeLink();
        this.#openLink(attributes.href);
        break;
      default:
    }
  }

  close(name: string): void {
    if (name === "title") this.#inTitle = false;
    if (this.#skipping !== undefined) {
      if (name === this.#skipping && --this.#skipDepth === 0) this.#skipping = undefined;
      return;
    }
    if (name === "a") this.#closeLink();
    if (name === "sup" || name === "sub") this.#line.push("}");
    if (BLOCKS.has(name)) this.#endParagraph();
    if (name === "ul" || name === "ol") this.#lists.pop();
    if (name === "li" || name === "tr" || name === "dd" || name === "dt") this.#endLine();
    if (name === "pre") this.#preformatted = Math.max(0, this.#preformatted - 1);
    if (name === "blockquote") this.#quotes = Math.max(0, this.#quotes - 1);
  }

  text(written: string): void {
    if (this.#inTitle && this.#title.length < MAX_TITLE_HTML) this.#title += inert(written);
    if (this.#inTitle || this.#skipping !== undefined) return;
    const text = inert(written);
    if (this.#preformatted === 0) {
      this.#write(text.replace(/\s+/g, " "));
      return;
    }
    for (const [index, line] of text.split("\n").entries()) {
      if (index > 0) this.#endLine(true);
      const visible = line.endsWith("\r") ? line.slice(0, -1) : line;
      if (visible !== "") this.#line.push(visible);
    }
  }

  end(): PageText {
    this.#closeLink();
    this.#endParagraph();
    const title = this.#title.replace(/\s+/g, " ").trim().slice(0, MAX_TITLE);
    const text = this.#out.join("\n").slice(0, MAX_TEXT).trimEnd();
    return { title: title.toWellFormed(), text, links: [...this.#links.keys()] };
  }

  #write(text: string): void {
    const isAtStart = this.#line.length === 0 || this.#line.at(-1)?.endsWith(" ");
    const visible = isAtStart && text.startsWith(" ") ? text.slice(1) : text;
    if (visible !== "") this.#line.push(visible);
  }

  #image(alt: string | undefined): void {
    const text = inert(alt ?? "")
      .replace(/\s+/g, " ")
      .trim();
    this.#write(text === "" ? `[Image ${this.#images}]` : `[Image ${this.#images}: ${text}]`);
    this.#images++;
  }

  #openItem(): void {
    this.#endLine();
    const list = this.#lists.at(-1);
    const depth = Math.min(this.#lists.length, MAX_DEPTH);
    const bullet = list?.ordered ? `${++list.items}. ` : "* ";
    this.#prefix = "  ".repeat(Math.max(1, depth)) + bullet;
  }

  #openLink(href: string | undefined): void {
    if (href !== undefined) this.#link = { href: href.trim(), start: this.#line.length };
  }

  #closeLink(): void {
    const link = this.#link;
    this.#link = undefined;
    if (link === undefined) return;
    const text = this.#line.slice(link.start).join("");
    const label = text.trim().replaceAll("†", "‡");
    const target = label === "" ? undefined : this.#resolve(link.href);
    if (target === undefined) return;
    const id = this.#links.get(target.href) ?? this.#links.size;
    this.#links.set(target.href, id);
    const domain = target.host === this.#base?.host ? "" : `†${target.host}`;
    const space = text.startsWith(" ") ? " " : "";
    const after = text.endsWith(" ") ? " " : "";
    this.#line.length = link.start;
    this.#line.push(`${space}【${id}†${label}${domain}】${after}`);
  }

  /** A link's target, if it can be opened and is not on this page. */
  #resolve(href: string): URL | undefined {
    if (this.#targets.has(href)) return this.#targets.get(href);
    // The number of resolved addresses is limited, because each is relative to a base that may be long.
    if (this.#links.size >= MAX_LINKS || this.#targets.size >= MAX_TARGETS) return undefined;
    const target = toTarget(href, this.#base?.href);
    this.#targets.set(href, target);
    return target;
  }

  #endParagraph(): void {
    this.#endLine();
    this.#put("");
  }

  #endLine(keepEmpty = false): void {
    // A link that spans several lines is shown on the first one.
    if (this.#link && this.#line.length > this.#link.start) this.#closeLink();
    const written = this.#line.join("");
    const line = this.#preformatted > 0 ? written.trimEnd() : written.trim();
    if (line !== "" || keepEmpty) {
      const quote = "> ".repeat(Math.min(this.#quotes, MAX_DEPTH));
      const indent = this.#preformatted > 0 && line !== "" ? "    " : "";
      this.#put(quote + this.#prefix + indent + line);
      this.#prefix = "";
    }
    this.#line = [];
    if (this.#link) this.#link = { ...this.#link, start: 0 };
  }

  /** Adds a line. Empty lines are not repeated, and not added at the start. */
  #put(line: string): void {
    if (this.isFull || (line === "" && (this.#out.at(-1) ?? "") === "")) return;
    this.#out.push(line);
    this.#length += line.length + 1;
  }
}

function toTarget(href: string, base: string | undefined): URL | undefined {
  if (href === "" || href.startsWith("#") || href.length > MAX_HREF) return undefined;
  const target = URL.parse(href, base);
  if (target === null || !/^https?:$/.test(target.protocol)) return undefined;
  if (target.host === "arxiv.org" || target.host === "www.arxiv.org") target.host = "ar5iv.org";
  return target.href.length > MAX_HREF ? undefined : target;
}

/** Maximum nesting that is shown; deeper quotations and lists are written at this depth. */
const MAX_DEPTH = 8;

/** Replaces the brackets of links and citations, so that a page cannot forge them. */
export function inert(text: string): string {
  return text
    .replaceAll("【", "〖")
    .replaceAll("】", "〗")
    .replace(/[\u200B-\u200D\uFEFF]/g, "");
}
