/** Parses a regular expression. The runtime checks its syntax first, and tests single characters. */
import {
  atEnd,
  atStart,
  atWordEdge,
  type CharacterTest,
  type Lookahead,
  PatternError,
  type Syntax,
} from "./pattern-syntax.ts";
import { quote } from "./schema-error.ts";

const MAX_REPEAT = 1000;
const MAX_GROUP_DEPTH = 100;

/** Throws a {@link PatternError} if the pattern is not supported. */
export function parsePattern(source: string): { body: Syntax; lookaheads: readonly Lookahead[] } {
  return new PatternParser(checkSyntax(withoutNeedlessEscapes(source))).parse();
}

/** Returns the pattern as the runtime parses it. Parsing is linear; only matching is not. */
function checkSyntax(source: string): string {
  try {
    return new RegExp(source, "u").source;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new PatternError(`is not a regular expression: ${reason.slice(0, 300)}`);
  }
}

/**
 * Many generators escape characters that need no escape: `\_`, `\@`, or `\-` outside a class. The `u` flag
 * forbids this and other dialects do not; the meaning is unambiguous.
 */
function withoutNeedlessEscapes(source: string): string {
  let inClass = false;
  return source.replaceAll(/\\([^])|[[\]]/gu, (token, escaped: string | undefined) => {
    if (token === "[") inClass = true;
    if (token === "]") inClass = false;
    if (escaped === undefined) return token;
    if (escaped === "-" && !inClass) return "-";
    return /[!"#%&',:;<=>@_`~ ]/u.test(escaped) ? escaped : token;
  });
}

/** Matches any one escape. A pair of escaped surrogates is one character. */
const ESCAPE =
  /\\(?:u\{[0-9a-f]+\}|ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}|u[0-9a-f]{4}|x[0-9a-f]{2}|c[a-z]|p\{[^}]*\}|k<[^>]*>|[1-9]\d*|.)/isuy;
const CLASS = /\[(?:[^\]\\]|\\.)*\]/suy;
const REPEAT = /(?:([*+?])|\{(\d+)(?:(,)(\d*))?\})\??/uy;
const GROUP = /\((?:\?(?:(:)|<([^=!][^>]*)>|(=|!)|(<=|<!)|[^:]))?/uy;

/** Parses a pattern that the runtime has already accepted. */
class PatternParser {
  readonly #source: string;
  readonly #lookaheads: Lookahead[] = [];
  readonly #tests = new Map<string, CharacterTest>();
  #at = 0;
  #depth = 0;
  /** Whether only `^` and lookaheads have been read. */
  #atHead = false;

  constructor(source: string) {
    this.#source = source;
  }

  parse(): { body: Syntax; lookaheads: readonly Lookahead[] } {
    const body = this.#parseChoice();
    if (this.#lookaheads.length > 0 && body.type === "choice") throw unsupported("lookahead");
    return { body, lookaheads: this.#lookaheads };
  }

  #parseChoice(): Syntax {
    const branches = [this.#parseSequence()];
    while (this.#source[this.#at] === "|") {
      this.#at++;
      branches.push(this.#parseSequence());
    }
    const [only] = branches;
    return branches.length === 1 && only ? only : { type: "choice", branches };
  }

  #parseSequence(): Syntax {
    const items: Syntax[] = [];
    for (;;) {
      const char = this.#source[this.#at];
      if (char === undefined || char === "|" || char === ")") return { type: "sequence", items };
      this.#atHead =
        this.#depth === 0 && items.length === 1 && this.#source[0] === "^" && this.#at > 0;
      const item = this.#parseItem(char);
      if (item) items.push(this.#parseRepeat(item));
    }
  }

  /** Returns undefined for a lookahead, which is stored separately. */
  #parseItem(char: string): Syntax | undefined {
    switch (char) {
      case "^":
        this.#at++;
        return { type: "assert", holds: atStart };
      case "$":
        this.#at++;
        return { type: "assert", holds: atEnd };
      case "(":
        return this.#parseGroup();
      case "[":
        return this.#character(this.#read(CLASS)[0]);
      case ".":
        this.#at++;
        return this.#character(".");
      case "\\":
        return this.#parseEscape();
      default: {
        const codePoint = this.#source.codePointAt(this.#at) ?? 0;
        this.#at += codePoint > 0xffff ? 2 : 1;
        return { type: "character", matches: (each) => each === codePoint };
      }
    }
  }

  #parseEscape(): Syntax {
    const [escape] = this.#read(ESCAPE);
    if (escape === String.raw`\b`) return { type: "assert", holds: atWordEdge };
    if (escape === String.raw`\B`) {
      return { type: "assert", holds: (text, at) => !atWordEdge(text, at) };
    }
    if (/^\\(?:[1-9]|k<)/u.test(escape)) throw unsupported("a backreference");
    return this.#character(escape);
  }

  #parseGroup(): Syntax | undefined {
    const mayLookAhead = this.#atHead;
    const [opening, plain, name, ahead, lookbehind] = this.#read(GROUP);
    if (lookbehind !== undefined) throw unsupported("lookbehind");
    if (ahead !== undefined && !mayLookAhead) {
      throw unsupported("lookahead, except directly after a leading ^");
    }
    if (opening !== "(" && plain === undefined && name === undefined && ahead === undefined) {
      throw unsupported("inline flags");
    }
    if (++this.#depth > MAX_GROUP_DEPTH) throw new PatternError("nests groups too deeply");
    const body = this.#parseChoice();
    this.#depth--;
    this.#at++;
    if (ahead === undefined) return body;
    this.#lookaheads.push({ body, negative: ahead === "!" });
    return undefined;
  }

  #parseRepeat(body: Syntax): Syntax {
    REPEAT.lastIndex = this.#at;
    const repeat = REPEAT.exec(this.#source);
    if (!repeat) return body;
    this.#at += repeat[0].length;
    const [, sign, from = "0", comma, to = ""] = repeat;
    if (sign !== undefined) {
      const least = sign === "+" ? 1 : 0;
      return { type: "repeat", body, least, most: sign === "?" ? 1 : Infinity };
    }
    const least = Number(from);
    const most = comma === undefined ? least : to === "" ? Infinity : Number(to);
    if (least > MAX_REPEAT || (most > MAX_REPEAT && most !== Infinity)) {
      throw new PatternError(`repeats more than ${MAX_REPEAT} times: ${quote(repeat[0])}`);
    }
    return { type: "repeat", body, least, most };
  }

  #character(source: string): Syntax {
    let matches = this.#tests.get(source);
    if (!matches) this.#tests.set(source, (matches = toCharacterTest(source)));
    return { type: "character", matches };
  }

  #read(token: RegExp): RegExpExecArray {
    token.lastIndex = this.#at;
    const match = token.exec(this.#source);
    if (!match) throw new PatternError(`cannot be read at ${quote(this.#source.slice(this.#at))}`);
    this.#at += match[0].length;
    return match;
  }
}

function unsupported(what: string): PatternError {
  return new PatternError(
    `uses ${what}, which cannot be matched in linear time: rewrite it without, or remove the pattern`,
  );
}

/** Lets the runtime's engine test one character. */
function toCharacterTest(source: string): CharacterTest {
  const pattern = new RegExp(`^${source}$`, "u");
  const known: (boolean | undefined)[] = [];
  return (codePoint) => {
    if (codePoint > 0x7f) return pattern.test(String.fromCodePoint(codePoint));
    return (known[codePoint] ??= pattern.test(String.fromCodePoint(codePoint)));
  };
}
