/** Returns a source of whole numbers from 0 to below a limit, with equal numbers in each run. */
export function createRandom(seed = 1): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % below;
  };
}
