/** Positions of the values in a JSON text. Comments and a comma after the last value are accepted. */
import { EditError, lineAt } from "./edit-error.ts";

export type JsonNode = ScalarNode | ObjectNode | ArrayNode;

interface Span {
  readonly start: number;
  readonly end: number;
}

interface ListNode extends Span {
  /** Index after a trailing comma. Undefined: there is no trailing comma. */
  readonly afterComma: number | undefined;
}

interface ScalarNode extends Span {
  readonly kind: "scalar";
}

interface ObjectNode extends ListNode {
  readonly kind: "object";
  readonly members: readonly {
    readonly key: string;
    /** Start of the key. */
    readonly start: number;
    readonly value: JsonNode;
  }[];
}

interface ArrayNode extends ListNode {
  readonly kind: "array";
  readonly items: readonly JsonNode[];
}

const MAX_DEPTH = 100;

/** @throws EditError if the text is not JSON */
export function readJsonText(text: string): JsonNode {
  return new Reader(text).readAll();
}

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  readAll(): JsonNode {
    if (this.#text.startsWith("\uFEFF")) this.#at = 1;
    const node = this.#value(0);
    this.#space();
    if (this.#at < this.#text.length) this.#fail();
    return node;
  }

  #value(depth: number): JsonNode {
    if (depth > MAX_DEPTH) this.#fail();
    this.#space();
    const start = this.#at;
    if (this.#take("{")) {
      const members: { key: string; start: number; value: JsonNode }[] = [];
      const afterComma = this.#list("}", () => {
        const at = this.#at;
        const key = this.#string();
        this.#space();
        if (!this.#take(":")) this.#fail();
        members.push({ key, start: at, value: this.#value(depth + 1) });
      });
      return { kind: "object", start, end: this.#at, members, afterComma };
    }
    if (this.#take("[")) {
      const items: JsonNode[] = [];
      const afterComma = this.#list("]", () => items.push(this.#value(depth + 1)));
      return { kind: "array", start, end: this.#at, items, afterComma };
    }
    this.#match(SCALAR);
    return { kind: "scalar", start, end: this.#at };
  }

  /** Returns the index after a trailing comma. */
  #list(close: string, readOne: () => void): number | undefined {
    let afterComma: number | undefined;
    for (;;) {
      this.#space();
      if (this.#take(close)) return afterComma;
      readOne();
      afterComma = undefined;
      this.#space();
      if (this.#take(",")) {
        afterComma = this.#at;
        continue;
      }
      if (!this.#take(close)) this.#fail();
      return undefined;
    }
  }

  #string(): string {
    const text = this.#match(STRING);
    try {
      return String(JSON.parse(text));
    } catch {
      return this.#fail();
    }
  }

  #space(): void {
    SPACE.lastIndex = this.#at;
    SPACE.test(this.#text);
    this.#at = SPACE.lastIndex;
  }

  #take(sign: string): boolean {
    const isThere = this.#text[this.#at] === sign;
    if (isThere) this.#at += 1;
    return isThere;
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    if (found === undefined) this.#fail();
    this.#at += found.length;
    return found;
  }

  #fail(): never {
    throw new EditError(`it is not JSON at line ${lineAt(this.#text, this.#at)}`);
  }
}

const SPACE = /(?:\s+|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/y;
const STRING = /"(?:[^"\\\n]|\\.)*"/y;
const SCALAR = /"(?:[^"\\\n]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null/y;
