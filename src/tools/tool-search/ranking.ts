/**
 * Ranks documents by the words that a query shares with them: BM25, in which a rare word counts more than a frequent
 * one, and a word of a short document more than one of a long document. Indexing is linear in the documents; a query
 * costs its words times the documents.
 */

/** The usual values: saturation of further occurrences of a word; below, the weight of a document's length. */
const SATURATION = 1.2;
const LENGTH_WEIGHT = 0.75;
/** Maximum words of a query. */
const MAX_QUERY_WORDS = 64;

export class WordRanking {
  /** The occurrences of each word, by document. */
  readonly #places = new Map<string, Map<number, number>>();
  readonly #lengths: number[] = [];
  #length = 0;

  add(document: string): void {
    const words = toWords(document);
    const index = this.#lengths.push(words.length) - 1;
    this.#length += words.length;
    for (const word of words) {
      let places = this.#places.get(word);
      if (places === undefined) this.#places.set(word, (places = new Map()));
      places.set(index, (places.get(index) ?? 0) + 1);
    }
  }

  /** The indexes of documents with a word of the query, the best first. */
  rank(query: string): number[] {
    const scores = new Map<number, number>();
    const meanLength = this.#length / this.#lengths.length;
    for (const word of new Set(toWords(query).slice(0, MAX_QUERY_WORDS))) {
      const places = this.#places.get(word) ?? new Map<number, number>();
      const others = this.#lengths.length - places.size;
      const rarity = Math.log(1 + (others + 0.5) / (places.size + 0.5));
      for (const [index, count] of places) {
        const length = (this.#lengths[index] ?? 0) / meanLength;
        const damping = SATURATION * (1 - LENGTH_WEIGHT + LENGTH_WEIGHT * length);
        const score = (rarity * count * (SATURATION + 1)) / (count + damping);
        scores.set(index, (scores.get(index) ?? 0) + score);
      }
    }
    return [...scores].toSorted(([a, x], [b, y]) => y - x || a - b).map(([index]) => index);
  }
}

/**
 * The words of a text. Names are split into their words: `getUserById`, `list_orders`. Scripts without spaces count by
 * character.
 */
function toWords(text: string): string[] {
  const split = text.replaceAll(/(\p{Ll}|\p{N})(\p{Lu})/gu, "$1 $2").toLowerCase();
  const words = split.match(
    /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]|[\p{L}\p{M}\p{N}]+/gu,
  );
  return (words ?? []).map((word) => toStem(word));
}

/**
 * English plurals and verb forms count as the same word. Query and documents are cut equally, so a wrong stem does no
 * harm.
 */
function toStem(word: string): string {
  if (word.length < 4) return word;
  return word.replace(/(?:ies|y)$/, "i").replace(/(?:ing|ed|es|s|e)$/, "");
}
