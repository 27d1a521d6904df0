/** Seeded random choices: the same seed gives the same inputs on every machine. */

export interface Random {
  /** A number from 0 to 1, exclusive. */
  next(): number;
  /** An integer from 0 to `limit`, exclusive. */
  below(limit: number): number;
  /** An integer between both, inclusive. */
  between(least: number, most: number): number;
  /** True once in `times`, on average. */
  oneIn(times: number): boolean;
  chance(probability: number): boolean;
  /** Throws on an empty list. */
  pick<T>(list: readonly T[]): T;
  pickOrNone<T>(list: readonly T[]): T | undefined;
  /** Some of the elements, in their order. */
  some<T>(list: readonly T[], probability?: number): T[];
}

/** Mulberry32: 32 bits of state, fast, and good enough to choose test inputs. */
export function createRandom(seed: number): Random {
  let state = seed | 0;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const below = (limit: number) => Math.floor(next() * limit);
  const chance = (probability: number) => next() < probability;
  return {
    next,
    below,
    between: (least, most) => least + below(most - least + 1),
    oneIn: (times) => below(times) === 0,
    chance,
    pick<T>(list: readonly T[]): T {
      const picked = list[below(list.length)];
      if (picked === undefined) throw new RangeError("nothing to pick from");
      return picked;
    },
    pickOrNone: (list) => list[below(list.length)],
    some: (list, probability = 0.5) => list.filter(() => chance(probability)),
  };
}

/** Mixes the bits of a seed: neighbouring seeds must not give neighbouring sequences. */
export function spreadSeed(seed: number): number {
  return Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b);
}

/** The seed of the input with this number, so that a single input can be generated again. */
export function seedOf(seed: number, index: number): number {
  return spreadSeed(seed) ^ Math.imul(index + 1, 0xc2b2ae35);
}
