/**
 * The time for the expiry of entries that outlive their process, from the system's clock and a monotonic one.
 *
 * A clock that jumps must not cause an irreversible decision: an entry is removed when it has expired by both clocks, and its
 * lifetime is set by the later one. The system's clock is trusted again after an hour without a jump.
 */

/** Two times in milliseconds since 1970, which differ only after a jump. */
export interface ExpiryClock {
  /** The time for removal: entries that expired before it are removed. */
  earliest(): number;
  /** The time for writing: the lifetime of an entry begins at it. */
  latest(): number;
}

/** Time without a jump after which a store relies on the system's clock alone. */
export const CLOCK_PROOF_MS = 3_600_000;
/** Minimum size of a jump. A smaller change is an adjustment. */
const JUMP_MS = 5_000;

export interface ClockSources {
  /** Time of the system's clock, in milliseconds since 1970. */
  readonly wall: () => number;
  /** Monotonic time, in milliseconds. */
  readonly monotonic: () => number;
}

export function createExpiryClock({ wall, monotonic }: ClockSources): ExpiryClock {
  /** Difference between the system's clock and the monotonic one: the trusted value, and the one since a jump. */
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
