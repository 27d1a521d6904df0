/**
 * The nine control tokens in text, and the escapes of text that spells them.
 *
 *     <|end|>      the token
 *     <<|end|>     the text <|end|>
 *     <<<|end|>    the text <<|end|>
 *
 * Any other name between such brackets is text. Between `<|literal|>` and `<|endliteral|>`, all text is verbatim.
 */

const NAMES = [
  "start",
  "channel",
  "constrain",
  "message",
  "end",
  "call",
  "return",
  "literal",
  "endliteral",
] as const;

export type ControlToken = (typeof NAMES)[number];

/**
 * A preceding `<` makes the spelling an escape. The leftmost match is correct: `<<<|end|>` begins with text.
 */
const SPELLED = new RegExp(`<?<\\|(${NAMES.join("|")})\\|>`, "g");
const TOKEN = new RegExp(`<\\|(?:${NAMES.join("|")})\\|>`, "g");
/** The longest escape, `<<|endliteral|>`. */
const LONGEST = 15;

export type Found =
  | {
      readonly type: "token";
      readonly token: ControlToken;
      readonly start: number;
      readonly end: number;
    }
  /** `text`: the text it represents. */
  | {
      readonly type: "escape";
      readonly text: string;
      readonly start: number;
      readonly end: number;
    };

/** The first control token or escape at or after `from`. */
export function findControl(text: string, from: number): Found | undefined {
  SPELLED.lastIndex = from;
  const match = SPELLED.exec(text);
  if (match === null) return undefined;
  const { 0: spelling, 1: name, index: start } = match;
  const end = start + spelling.length;
  if (spelling.startsWith("<<")) return { type: "escape", text: spelling.slice(1), start, end };
  const token = NAMES.find((each) => each === name) ?? "start";
  return { type: "token", token, start, end };
}

/** The end of the text that is certain: a token or an escape may begin after it. */
export function certainUpTo(text: string, from: number): number {
  let at = text.indexOf("<", Math.max(from, text.length - LONGEST + 1));
  while (at >= 0) {
    const tail = text.slice(at);
    if (isBeginning(tail) || isBeginning(tail.slice(1))) return at;
    at = text.indexOf("<", at + 1);
  }
  // Half a surrogate pair is held back as well, so that no delta splits a character.
  const last = text.charCodeAt(text.length - 1);
  const isHalf = text.length > from && last >= 0xd800 && last <= 0xdbff;
  return isHalf ? text.length - 1 : text.length;
}

/** Escapes `text` for use outside literal blocks. */
export function escapeControl(text: string): string {
  return text.includes("<|") ? text.replaceAll(TOKEN, "<$&") : text;
}

function isBeginning(tail: string): boolean {
  return NAMES.some((name) => `<|${name}|>`.startsWith(tail));
}
