/**
 * What the events of a stream have in common. One differs from the next in a text only, which may stand in it several times,
 * and in a number that counts them: the rest is kept once.
 */

/** In characters. Longer events have nothing to be learned from. */
export const LONGEST_LEARNED = 2048;
/** Events with less in common are kept as they are. */
const LEAST_COMMON = 32;
/** Of a text in them. */
const LONGEST_TEXT = 8192;

/** An event is the head, the number and what comes after it, the text, and for each joint that and the text again; then the tail. */
export interface FormParts {
  readonly head: string;
  /** Undefined: there is no number, and nothing comes after it. */
  readonly number: { readonly next: number; readonly after: string } | undefined;
  readonly joints: readonly string[];
  readonly tail: string;
}

export class EventForm {
  readonly #parts: FormParts;
  readonly #head: string;
  readonly #tail: string;
  /** Negative: there is none. */
  #next: number;
  readonly #after: string;
  readonly #joints: readonly string[];
  /** Characters of joints and tail. */
  readonly #rest: number;
  /** {@link size}, computed once. */
  readonly #fixed: number;
  #from = 0;

  constructor(parts: FormParts) {
    this.#parts = parts;
    this.#head = parts.head;
    this.#tail = parts.tail;
    this.#next = parts.number?.next ?? -1;
    this.#after = parts.number?.after ?? "";
    this.#joints = parts.joints;
    this.#rest = this.#joints.reduce((sum, joint) => sum + joint.length, this.#tail.length);
    this.#fixed = this.#head.length + this.#after.length + this.#rest;
  }

  /** Characters that are the same in all. */
  get size(): number {
    return this.#fixed;
  }

  /**
   * The length of the text in the next event, which begins at {@link from}; -1 for an event of another form. Call it for
   * each event once, in order.
   */
  match(event: string): number {
    const head = this.#head;
    let from = head.length;
    // A slice is compared natively; `startsWith` compares so long a text four times slower.
    if (event.slice(0, from) !== head) return -1;
    if (this.#next >= 0) {
      const number = String(this.#next);
      const end = from + number.length;
      from = end + this.#after.length;
      if (event.slice(head.length, end) !== number) return -1;
      if (event.slice(end, from) !== this.#after) return -1;
    }
    const joints = this.#joints;
    const length = (event.length - from - this.#rest) / (joints.length + 1);
    if (!(length >= 0 && length <= LONGEST_TEXT && Number.isInteger(length))) return -1;
    if (event.slice(event.length - this.#tail.length) !== this.#tail) return -1;
    if (joints.length > 0 && !this.#repeats(event, from, length)) return -1;
    if (this.#next >= 0) this.#next += 1;
    this.#from = from;
    return length;
  }

  /** Of an event with a text of this length. Not for forms with a number. */
  lengthOf(text: number): number {
    return this.#fixed + text * (this.#joints.length + 1);
  }

  /** As if the last event had not been asked for: it is asked for again. */
  unmatch(): void {
    if (this.#next >= 0) this.#next -= 1;
  }

  /** Where the text of the event that has matched begins. */
  get from(): number {
    return this.#from;
  }

  /** The event with this text, of those that have matched the one with this index. */
  toEvent(text: string, index: number): string {
    const { head, number, joints, tail } = this.#parts;
    const counted = number === undefined ? "" : String(number.next + index) + number.after;
    return head + counted + text + joints.map((joint) => joint + text).join("") + tail;
  }

  #repeats(event: string, from: number, length: number): boolean {
    let at = from + length;
    const text = event.slice(from, at);
    for (const joint of this.#joints) {
      const again = at + joint.length;
      if (event.slice(at, again) !== joint) return false;
      at = again + length;
      if (event.slice(again, at) !== text) return false;
    }
    return true;
  }
}

/** The form of an event and the one before it. Undefined: they have none. */
export function learnForm(before: string, event: string): EventForm | undefined {
  if (Math.max(before.length, event.length) > LONGEST_LEARNED) return undefined;
  const { common, different } = compare(before, event);
  const [first, second] = different;
  if (first === undefined) return undefined;
  const isCounted = second !== undefined && isNext(first);
  const texts = isCounted ? different.slice(1) : different;
  const [text] = texts;
  if (texts.some((each) => each.before !== text?.before || each.now !== text.now)) return undefined;
  // Parts of a string keep the whole of it.
  const [head = "", ...others]: string[] = JSON.parse(JSON.stringify(common));
  const [after = ""] = isCounted ? others.splice(0, 1) : [];
  const tail = others.pop() ?? "";
  const number = isCounted ? { next: Number(first.now) + 1, after } : undefined;
  const form = new EventForm({ head, number, joints: others, tail });
  return form.size < LEAST_COMMON ? undefined : form;
}

interface Difference {
  readonly before: string;
  readonly now: string;
}

/** What two events have in common, and between each two parts of it the strings or numbers in which they differ. */
function compare(before: string, event: string) {
  const common: string[] = [];
  const different: Difference[] = [];
  let at = 0;
  let atBefore = 0;
  let from = 0;
  for (;;) {
    while (at < event.length && event.charCodeAt(at) === before.charCodeAt(atBefore)) {
      at++;
      atBefore++;
    }
    if (at === event.length && atBefore === before.length) break;
    const start = startOfValue(event, at, from);
    const startBefore = atBefore - (at - start);
    at = endOfValue(event, start);
    atBefore = endOfValue(before, startBefore);
    common.push(event.slice(from, start));
    different.push({ before: before.slice(startBefore, atBefore), now: event.slice(start, at) });
    from = at;
    // Neither has an end of its own there: what follows cannot be compared.
    if (at === start && atBefore === startBefore) return { common: [], different: [] };
  }
  common.push(event.slice(from));
  return { common, different };
}

/** Where the number or the content of the string begins in which `at` is; at least `from`. */
function startOfValue(event: string, at: number, from: number): number {
  let start = at;
  while (start > from && isDigit(event.charCodeAt(start - 1))) start--;
  if (event.charCodeAt(start - 1) === COLON) return start;
  while (start > from && !isQuote(event, start - 1)) start--;
  return start;
}

/** Behind a number, or at the end of a string's content. */
function endOfValue(event: string, start: number): number {
  let end = start;
  if (event.charCodeAt(start - 1) === QUOTE) {
    while (end < event.length && !isQuote(event, end)) end++;
  } else {
    while (end < event.length && isDigit(event.charCodeAt(end))) end++;
  }
  return end;
}

/** A quote that begins or ends a string. */
function isQuote(event: string, at: number): boolean {
  if (event.charCodeAt(at) !== QUOTE) return false;
  let backslashes = 0;
  while (event.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes++;
  return backslashes % 2 === 0;
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

function isNext({ before, now }: Difference): boolean {
  return /^\d{1,15}$/.test(before) && now === String(Number(before) + 1);
}

const QUOTE = 34;
const COLON = 58;
const BACKSLASH = 92;
