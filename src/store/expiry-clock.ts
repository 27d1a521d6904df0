/**
 * The time at which entries expire that outlive their process, by the system's clock and a monotonic one.
 *
 * A clock that jumps decides nothing that cannot be taken back: an entry is removed when both clocks say that it has expired, and
 * kept from its writing for as long as either needs. The system's clock is believed again once it has gone evenly for an hour.
 */

/** Milliseconds since 1970. Apart only after a jump. */
export interface ExpiryClock {
  /** What is removed must have expired by then. */
  earliest(): number;
  /** What is written lives from then on. */
  latest(): number;
}

/** How long the system's clock must go evenly before a store relies on it alone. */
export const CLOCK_PROOF_MS = 3_600_000;
/** Less is a clock that is adjusted. */
const JUMP_MS = 5_000;

export interface ClockSources {
  /** Milliseconds since 1970, as the system's clock says. */
  readonly wall: () => number;
  /** Monotonic, in milliseconds. */
  readonly monotonic: () => number;
}

export function createExpiryClock({ wall, monotonic }: ClockSources): ExpiryClock {
  /** What the system's clock has more than the monotonic one: as believed, and since its jump. */
  let believed = wall() - monotonic();
  let jumped = { to: believed, at: -Infinity };

  function look(): { readonly steady: number; readonly shown: number } {
    const at = monotonic();
    const shown = wall();
    const ahead = shown - at;
    if (Math.abs(ahead - jumped.to) >= JUMP_MS) jumped = { to: ahead, at };
    else jumped.to = ahead;
    const isEven = Math.abs(ahead - believed) < JUMP_MS || at - jumped.at >= CLOCK_PROOF_MS;
    if (isEven) believed = ahead;
    return { steady: at + believed, shown };
  }

  return {
    earliest: () => {
      const { steady, shown } = look();
      return Math.min(steady, shown);
    },
    latest: () => {
      const { steady, shown } = look();
      return Math.max(steady, shown);
    },
  };
}

/** The clocks of this thread or isolate. */
export function openExpiryClock(): ExpiryClock {
  return createExpiryClock({ wall: () => Date.now(), monotonic: () => performance.now() });
}
