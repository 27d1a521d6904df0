/**
 * The constant parts of a stream's events. Successive events differ only in a text, which may occur several times in each,
 * and in a sequence number, so that the rest is kept once.
 */

/** In characters. No form is learned from longer events. */
export const LONGEST_LEARNED = 2048;
/** In characters. Events with less in common are kept as they are. */
const LEAST_COMMON = 32;
/** The longest variable text, in characters. */
export const LONGEST_TEXT = 8192;

/** An event is `head`, the sequence number and what follows it, the text, each joint followed by the text again, and `tail`. */
export interface FormParts {
  readonly head: string;
  /** The next sequence number and the constant after it, if events are numbered. */
  readonly number: { readonly next: number; readonly after: string } | undefined;
  readonly joints: readonly string[];
  readonly tail: string;
}

export class EventForm {
  readonly #parts: FormParts;
  readonly #head: string;
  readonly #tail: string;
  /** The next sequence number; negative if events are not numbered. */
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

  get isNumbered(): boolean {
    return this.#next >= 0;
  }

  /** Constant characters. */
  get size(): number {
    return this.#fixed;
  }

  /**
   * Returns the length of the event's text, which begins at {@link from}, or -1 if the event has another form. Call it once
   * for each event, in order.
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

  /** The next events of this form need not be matched. */
  skip(events: number): void {
    if (this.#next >= 0) this.#next += events;
  }

  /** Offset of the text in the event that was matched last. */
  get from(): number {
    return this.#from;
  }

  /** Makes an event again. @param index its index among the events that matched, from 0 */
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

/** Learns the form of two successive events. Undefined if they have too little in common. */
export function learnForm(before: string, event: string): EventForm | undefined {
  if (Math.max(before.length, event.length) > LONGEST_LEARNED) return undefined;
  const { common, different } = compare(before, event);
  const [first, second] = different;
  if (first === undefined) return undefined;
  const isCounted = second !== undefined && isNext(first);
  const texts = isCounted ? different.slice(1) : different;
  const [text] = texts;
  if (texts.some((each) => each.before !== text?.before || each.now !== text.now)) return undefined;
  // Copied, because a slice keeps its whole string in memory.
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

/** The constant parts of two events, and the strings or numbers between them, in which the events differ. */
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
    // Nothing was skipped in either event: the rest cannot be aligned.
    if (at === start && atBefore === startBefore) return { common: [], different: [] };
  }
  common.push(event.slice(from));
  return { common, different };
}

/** Start of the number or string content that contains `at`, but not before `from`. */
function startOfValue(event: string, at: number, from: number): number {
  let start = at;
  while (start > from && isDigit(event.charCodeAt(start - 1))) start--;
  if (event.charCodeAt(start - 1) === COLON) return start;
  while (start > from && !isQuote(event, start - 1)) start--;
  return start;
}

/** End of the number or string content that begins at `start`. */
function endOfValue(event: string, start: number): number {
  let end = start;
  if (event.charCodeAt(start - 1) === QUOTE) {
    while (end < event.length && !isQuote(event, end)) end++;
  } else {
    while (end < event.length && isDigit(event.charCodeAt(end))) end++;
  }
  return end;
}

/** Whether an unescaped quote is at `at`. */
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
