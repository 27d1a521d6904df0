/** A request's JSON for reading, with marks on the parts that could not be used. */

export interface Thought {
  readonly text: string;
  /** The reason why the thought was left out. Undefined: it was kept. */
  readonly why: string | undefined;
}

export interface Unused {
  /** All reasoning of the conversation in order, so that equal thoughts stay distinct. */
  readonly thoughts: readonly Thought[];
  /** Types of tools and items that cannot be served. */
  readonly kinds: readonly { readonly kind: string; readonly why: string }[];
}

export interface BodyPiece {
  readonly text: string;
  /** The reason why the text was not used. Undefined: it was used. */
  readonly why: string | undefined;
}

export interface MarkedBody {
  readonly pieces: readonly BodyPiece[];
  /** Unused parts that the request does not contain as plain text: mostly reasoning that was encrypted or stored. */
  readonly missing: Unused;
}

/** @throws SyntaxError for a body that is not JSON, RangeError for a body that is nested too deeply. */
export function toMarkedBody(body: string, unused: Unused): MarkedBody {
  const writer = new MarkedWriter(unused);
  writer.write(JSON.parse(body), "");
  return { pieces: writer.finish(), missing: writer.missing() };
}

/** Fields of the APIs that hold reasoning, and types of objects that do. */
const THOUGHT_FIELDS = new Set(["reasoning", "reasoning_content", "reasoning_details", "thinking"]);
const THOUGHT_TYPE = /^(reasoning|thinking)\b/;
/** Indentation of the elements of the request's lists: its messages or items. */
const MESSAGE_INDENT = "    ";

class MarkedWriter {
  readonly #thoughts: Unused["thoughts"];
  readonly #kinds: Unused["kinds"];
  readonly #foundKinds = new Set<string>();
  readonly #foundThoughts = new Set<Thought>();
  readonly #pieces: BodyPiece[] = [];
  /** For each text, the indexes of the thoughts with this text, in order. */
  readonly #places: ReadonlyMap<string, number[]>;
  /** Index of the first thought that was not passed yet. */
  #next = 0;
  /** The last thought found in this message, which may contain it more than once. */
  #own: Thought | undefined;
  #text = "";

  constructor({ thoughts, kinds }: Unused) {
    this.#thoughts = thoughts;
    this.#kinds = kinds;
    this.#places = Map.groupBy(thoughts.keys(), (index) => thoughts[index]?.text ?? "");
  }

  write(value: unknown, indent: string, isThought = false): void {
    if (indent === MESSAGE_INDENT) this.#own = undefined;
    const type = typeOf(value);
    const kind = this.#kinds.find((each) => each.kind === type);
    if (kind !== undefined) {
      this.#foundKinds.add(kind.kind);
      this.#mark(JSON.stringify(value, undefined, 2).replaceAll("\n", `\n${indent}`), kind.why);
    } else if (Array.isArray(value)) {
      const members = value.map((each: unknown): Member => ({ name: "", value: each, isThought }));
      this.#list(members, "[]", indent);
    } else if (typeof value === "object" && value !== null) {
      const isWhole = isThought || (type !== undefined && THOUGHT_TYPE.test(type));
      const members = Object.entries(value).map(([name, each]: [string, unknown]): Member => ({
        name: `${JSON.stringify(name)}: `,
        value: each,
        isThought: isWhole || THOUGHT_FIELDS.has(name),
      }));
      this.#list(members, "{}", indent);
    } else if (typeof value === "string" && isThought) {
      this.#thought(value);
    } else {
      this.#text += JSON.stringify(value);
    }
  }

  finish(): readonly BodyPiece[] {
    this.#flush();
    return this.#pieces;
  }

  missing(): Unused {
    return {
      thoughts: this.#thoughts.filter(
        (each) => each.why !== undefined && !this.#foundThoughts.has(each),
      ),
      kinds: this.#kinds.filter(({ kind }) => !this.#foundKinds.has(kind)),
    };
  }

  #list(members: readonly Member[], brackets: string, indent: string): void {
    if (members.length === 0) {
      this.#text += brackets;
      return;
    }
    const inner = `${indent}  `;
    this.#text += brackets[0];
    for (const [index, { name, value, isThought }] of members.entries()) {
      this.#text += `${index === 0 ? "" : ","}\n${inner}${name}`;
      this.write(value, inner, isThought);
    }
    this.#text += `\n${indent}${brackets[1]}`;
  }

  #thought(text: string): void {
    const found = this.#own?.text === text ? this.#own : this.#findNext(text);
    if (found === undefined) {
      this.#text += JSON.stringify(text);
      return;
    }
    this.#own = found;
    this.#foundThoughts.add(found);
    if (found.why === undefined) this.#text += JSON.stringify(text);
    else this.#mark(JSON.stringify(text), found.why);
  }

  #findNext(text: string): Thought | undefined {
    const places = this.#places.get(text);
    let at = places?.shift();
    while (at !== undefined && at < this.#next) at = places?.shift();
    if (at === undefined) return undefined;
    this.#next = at + 1;
    return this.#thoughts[at];
  }

  #mark(text: string, why: string): void {
    this.#flush();
    this.#pieces.push({ text, why });
  }

  #flush(): void {
    if (this.#text !== "") this.#pieces.push({ text: this.#text, why: undefined });
    this.#text = "";
  }
}

interface Member {
  readonly name: string;
  readonly value: unknown;
  readonly isThought: boolean;
}

function typeOf(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const type: unknown = Reflect.get(value, "type");
  return typeof type === "string" ? type : undefined;
}
