/**
 * Recognises that the process which runs a background response has died: its heartbeat has not changed for a while by the
 * reader's own monotonic clock. What the heartbeat says is not compared with any clock, because the clocks of two machines
 * differ, and any of them may jump.
 */

import { partOf, type ProcessState } from "../../lazy.ts";

export interface HeartbeatWatch {
  /** Takes note of a response's heartbeat, and returns whether it has been the same for too long. */
  isDead(id: string, beat: number): boolean;
  /** The response has ended. */
  forget(id: string): void;
}

/** Without a change for so long, the process that runs the response is considered dead. */
const DEAD_AFTER_MS = 30_000;
/** Responses that are watched at once. Without the oldest one, its death is noticed later. */
const MAX_WATCHED = 10_000;

/**
 * @param clock monotonic, in milliseconds.
 * @param staleMs how long the store may return an earlier heartbeat.
 */
export function createHeartbeatWatch(
  clock: () => number,
  staleMs: number,
  state?: ProcessState,
): HeartbeatWatch {
  const deadAfterMs = DEAD_AFTER_MS + staleMs;
  const seen = seenIn(state);
  return {
    isDead(id, beat) {
      const last = seen.get(id);
      if (last?.beat === beat) return clock() - last.since >= deadAfterMs;
      seen.delete(id);
      seen.set(id, { beat, since: clock() });
      for (const oldest of seen.keys()) {
        if (seen.size <= MAX_WATCHED) break;
        seen.delete(oldest);
      }
      return false;
    },
    forget(id) {
      seen.delete(id);
    },
  };
}

/** By the response's id. */
const seenIn = partOf(() => new Map<string, { readonly beat: number; readonly since: number }>());
