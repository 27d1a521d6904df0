/**
 * A digest of a sequence of ids that can be computed piece by piece: the digest of a joined sequence follows from the
 * digests of its parts. It has 64 bits and is not cryptographic: a client that constructs a collision affects only its
 * own prompts.
 */
import type { TokenId } from "../tokenizer/index.ts";

export interface IdsDigest {
  readonly length: number;
  readonly low: number;
  readonly high: number;
  /** The multipliers to the power of the length. */
  readonly lowPower: number;
  readonly highPower: number;
}

export const NO_IDS: IdsDigest = { length: 0, low: 0, high: 0, lowPower: 1, highPower: 1 };

const LOW = 0x9e3779b1;
const HIGH = 0x85ebca77;

export function digestOf(ids: ArrayLike<TokenId>): IdsDigest {
  let [low, high, lowPower, highPower] = [0, 0, 1, 1];
  for (let at = 0; at < ids.length; at++) {
    // Without the shifts, the low bits of a digest would depend only on the low bits of the ids.
    const id = Math.imul((ids[at] ?? 0) + 1, 0xc2b2ae3d);
    low = (Math.imul(low, LOW) + (id ^ (id >>> 15))) | 0;
    high = (Math.imul(high, HIGH) + (id ^ (id >>> 13))) | 0;
    lowPower = Math.imul(lowPower, LOW);
    highPower = Math.imul(highPower, HIGH);
  }
  return { length: ids.length, low, high, lowPower, highPower };
}

export function joinDigests(first: IdsDigest, second: IdsDigest): IdsDigest {
  return {
    length: first.length + second.length,
    low: (Math.imul(first.low, second.lowPower) + second.low) | 0,
    high: (Math.imul(first.high, second.highPower) + second.high) | 0,
    lowPower: Math.imul(first.lowPower, second.lowPower),
    highPower: Math.imul(first.highPower, second.highPower),
  };
}
