/** The syntax tree of a regular expression, and the assertions that occur in it. */

/** Thrown for an unsupported pattern. The message is the reason. */
export class PatternError extends Error {}

export type CharacterTest = (codePoint: number) => boolean;
export type Assertion = (text: string, at: number) => boolean;

export type Syntax =
  | { readonly type: "character"; readonly matches: CharacterTest }
  | { readonly type: "assert"; readonly holds: Assertion }
  | { readonly type: "sequence"; readonly items: readonly Syntax[] }
  | { readonly type: "choice"; readonly branches: readonly Syntax[] }
  | {
      readonly type: "repeat";
      readonly body: Syntax;
      readonly least: number;
      readonly most: number;
    };

export interface Lookahead {
  readonly body: Syntax;
  readonly negative: boolean;
}

export function atStart(_text: string, at: number): boolean {
  return at === 0;
}

export function atEnd(text: string, at: number): boolean {
  return at === text.length;
}

export function atWordEdge(text: string, at: number): boolean {
  return isWord(text.charCodeAt(at - 1)) !== isWord(text.charCodeAt(at));
}

/** Whether the code is a word character's. NaN stands for the end of the text. */
function isWord(code: number): boolean {
  return (
    (code >= 0x30 && code <= 0x39) ||
    (code >= 0x41 && code <= 0x5a) ||
    (code >= 0x61 && code <= 0x7a) ||
    code === 0x5f
  );
}
