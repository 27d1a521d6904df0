/**
 * Compares a message that the model sampled with the message that a client has sent back. Arguments of calls may have
 * been printed again: in another order, with other white space, escapes and spellings of numbers.
 */
import type { Message } from "./conversation.ts";
import { type Json, parseJson } from "./json.ts";

/** Whether two messages of the assistant have equal content. The form of a call's header may differ. */
export function isSameMessage(sampled: Message, sent: Message): boolean {
  const { recipient, channel, content } = sent;
  if (typeof content !== "string" || typeof sampled.content !== "string") return false;
  if (sampled.recipient !== recipient) return false;
  if (recipient === undefined) return sampled.channel === channel && sampled.content === content;
  const [own, others] = [sampled.content.trim(), content.trim()];
  return own === others || (others.length <= MAX_GROWTH * own.length && isSameJson(own, others));
}

/** Maximum growth factor of text that was printed again. A client can send megabytes for a few sampled characters. */
const MAX_GROWTH = 64;

function isSameJson(left: string, right: string): boolean {
  if (!/^[{["]/.test(left)) return false;
  try {
    const [own, others] = [parseJson(left), parseJson(right)];
    return isEqual(own, others) && countKeys(own) === countColons(left);
  } catch {
    return false;
  }
}

function isEqual(left: Json, right: Json): boolean {
  if (left === right) return true;
  if (typeof left !== "object" || typeof right !== "object") return false;
  if (left === null || right === null) return false;
  if (left instanceof Map) {
    if (!(right instanceof Map) || left.size !== right.size) return false;
    for (const [key, value] of left) {
      const other = right.get(key);
      if (other === undefined || !isEqual(value, other)) return false;
    }
    return true;
  }
  if (Array.isArray(left)) {
    if (!Array.isArray(right) || left.length !== right.length) return false;
    return left.every((value, index) => isEqual(value, right[index]));
  }
  return "number" in left && "number" in right && decimal(left.number) === decimal(right.number);
}

/** The digits without zeros at either end, and the power of ten: equal for `1.0`, `1` and `10e-1`. */
function decimal(text: string): string {
  const [, sign = "", whole = "", fraction = "", power = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  const digits = (whole + fraction).replace(/^0+/, "");
  const significant = digits.replace(/0+$/, "");
  if (significant === "") return "0";
  const exponent = Number(power) - fraction.length + (digits.length - significant.length);
  return `${sign}${significant}e${exponent}`;
}

function countKeys(json: Json): number {
  if (typeof json !== "object" || json === null) return 0;
  if (Array.isArray(json)) return json.reduce((sum: number, each) => sum + countKeys(each), 0);
  if (!(json instanceof Map)) return 0;
  let keys = json.size;
  for (const value of json.values()) keys += countKeys(value);
  return keys;
}

/**
 * The number of colons outside strings: larger than the number of parsed keys if a key is repeated, whose first value
 * is lost.
 */
function countColons(text: string): number {
  return text.replaceAll(/"[^"\\]*(?:\\.[^"\\]*)*"/gs, "").split(":").length - 1;
}
