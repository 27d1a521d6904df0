/**
 * Converts a page's HTML to the text that the model was trained to read: links as `【{id}†text】`, or
 * `【{id}†text†domain】` if they lead to another site, and a simple form of Markdown for the rest.
 */
export interface PageText {
  readonly title: string;
  readonly text: string;
  readonly links: readonly string[];
}

/** Maximum number of links. Further ones keep their text only. */
const MAX_LINKS = 2000;

/**
 * Never fails, whatever the HTML. The parser is loaded by the first page: its tables of named characters take some
 * milliseconds to unpack, which few processes need.
 *
 * @param url the page's address, to which links are relative.
 */
export async function htmlToText(html: string, url: string): Promise<PageText> {
  const { Parser } = await import("./html-parser.ts");
  const writer = new PageWriter(url);
  const parser = new Parser(
    {
      onopentag: (name, attributes) => writer.open(name, attributes),
      ontext: (text) => writer.text(text),
      onclosetag: (name) => writer.close(name),
    },
    { decodeEntities: true, lowerCaseTags: true },
  );
  parser.write(html);
  parser.end();
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
  /** Offset of its text in the line. */
  readonly start: number;
}

class PageWriter {
  readonly #base: URL | null;
  readonly #links = new Map<string, number>();
  readonly #lists: { readonly ordered: boolean; items: number }[] = [];
  #out: string[] = [];
  #line = "";
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

  open(name: string, attributes: Readonly<Record<string, string>>): void {
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
        if (this.#cells++ > 0) this.#line += " | ";
        break;
      case "br":
        this.#endLine();
        break;
      case "hr":
        this.#line = "* * *";
        this.#endParagraph();
        break;
      case "pre":
        this.#preformatted++;
        break;
      case "blockquote":
        this.#quotes++;
        break;
      case "sup":
        this.#line += "^{";
        break;
      case "sub":
        this.#line += "_{";
        break;
      case "img":
        this.#image(attributes["alt"]);
        break;
      case "a":
        this.#closeLink();
        this.#openLink(attributes["href"]);
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
    if (name === "sup" || name === "sub") this.#line += "}";
    if (BLOCKS.has(name)) this.#endParagraph();
    if (name === "ul" || name === "ol") this.#lists.pop();
    if (name === "li" || name === "tr" || name === "dd" || name === "dt") this.#endLine();
    if (name === "pre") this.#preformatted = Math.max(0, this.#preformatted - 1);
    if (name === "blockquote") this.#quotes = Math.max(0, this.#quotes - 1);
  }

  text(written: string): void {
    const text = inert(written);
    if (this.#inTitle) {
      this.#title += text;
      return;
    }
    if (this.#skipping !== undefined) return;
    if (this.#preformatted === 0) {
      this.#write(text.replace(/\s+/g, " "));
      return;
    }
    for (const [index, line] of text.split("\n").entries()) {
      if (index > 0) this.#endLine(true);
      this.#line += line.replace(/\r$/, "");
    }
  }

  end(): PageText {
    this.#closeLink();
    this.#endParagraph();
    const text = this.#out
      .join("\n")
      .replace(/\n{3,}/g, "\n\n")
      .replace(/^\n+|\s+$/g, "");
    const title = this.#title.replace(/\s+/g, " ").trim();
    return { title, text, links: [...this.#links.keys()] };
  }

  #write(text: string): void {
    const isAtStart = this.#line === "" || this.#line.endsWith(" ");
    this.#line += isAtStart ? text.replace(/^ /, "") : text;
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
    const text = this.#line.slice(link.start);
    const label = text.trim().replaceAll("†", "‡");
    const target = label === "" ? undefined : this.#resolve(link.href);
    if (target === undefined) return;
    const id = this.#links.get(target.href) ?? this.#links.size;
    this.#links.set(target.href, id);
    const domain = target.host === this.#base?.host ? "" : `†${target.host}`;
    const space = text.startsWith(" ") ? " " : "";
    const after = text.endsWith(" ") ? " " : "";
    this.#line = `${this.#line.slice(0, link.start)}${space}【${id}†${label}${domain}】${after}`;
  }

  /** A link's target, if it can be opened and is not on this page. */
  #resolve(href: string): URL | undefined {
    if (href === "" || href.startsWith("#")) return undefined;
    const target = URL.parse(href, this.#base?.href);
    if (target === null || !/^https?:$/.test(target.protocol)) return undefined;
    if (target.host === "arxiv.org" || target.host === "www.arxiv.org") target.host = "ar5iv.org";
    if (!this.#links.has(target.href) && this.#links.size >= MAX_LINKS) return undefined;
    return target;
  }

  #endParagraph(): void {
    this.#endLine();
    if (this.#out.at(-1) !== "") this.#out.push("");
  }

  #endLine(keepEmpty = false): void {
    // A link that spans several lines is shown on the first one.
    if (this.#link && this.#line.length > this.#link.start) this.#closeLink();
    const line = this.#preformatted > 0 ? this.#line.trimEnd() : this.#line.trim();
    if (line !== "" || keepEmpty) {
      const quote = "> ".repeat(Math.min(this.#quotes, MAX_DEPTH));
      const indent = this.#preformatted > 0 && line !== "" ? "    " : "";
      this.#out.push(quote + this.#prefix + indent + line);
      this.#prefix = "";
    }
    this.#line = "";
    if (this.#link) this.#link = { ...this.#link, start: 0 };
  }
}

/** Maximum nesting that is shown; deeper quotations and lists are written like those of this depth. */
const MAX_DEPTH = 8;

/** Replaces the brackets of links and citations, so that a page cannot forge them. */
export function inert(text: string): string {
  return text
    .replaceAll("【", "〖")
    .replaceAll("】", "〗")
    .replace(/[\u200B-\u200D\uFEFF]/g, "");
}
