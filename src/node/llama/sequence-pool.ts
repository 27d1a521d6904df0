/**
 * Which completion runs on which sequence of the model's context.
 *
 * A sequence keeps the tokens it evaluated last, so a prompt that begins like them needs only the rest. A
 * prompt therefore gets the idle sequence it shares most with, unless it would throw away more than half of
 * what that one holds: then another conversation's cache is worth more than a shared system message,
 * and the sequence that has been idle longest is taken. Completions beyond the number of sequences wait.
 */
export interface Sequence {
  /** How many tokens it holds. */
  readonly nextTokenIndex: number;
}

export interface SequencePool<S extends Sequence> {
  /**
   * Waits for a sequence. Rejects with the signal's reason when it is aborted first.
   *
   * @param usable how many of the tokens a sequence holds the prompt begins with.
   */
  acquire(usable: (sequence: S) => number, signal: AbortSignal): Promise<S>;
  release(sequence: S): void;
}

export function createSequencePool<S extends Sequence>(sequences: readonly S[]): SequencePool<S> {
  /** Longest idle first. */
  const idle = [...sequences];
  const waiting: ((sequence: S) => void)[] = [];

  return {
    async acquire(usable, signal) {
      signal.throwIfAborted();
      const chosen = choose(idle, usable);
      if (chosen !== undefined) {
        idle.splice(idle.indexOf(chosen), 1);
        return chosen;
      }
      return new Promise((resolve, reject) => {
        const take = (sequence: S) => {
          signal.removeEventListener("abort", leave);
          resolve(sequence);
        };
        const leave = () => {
          waiting.splice(waiting.indexOf(take), 1);
          reject(signal.reason);
        };
        waiting.push(take);
        signal.addEventListener("abort", leave, { once: true });
      });
    },
    release(sequence) {
      const next = waiting.shift();
      if (next === undefined) idle.push(sequence);
      else next(sequence);
    },
  };
}

function choose<S extends Sequence>(
  idle: readonly S[],
  usable: (sequence: S) => number,
): S | undefined {
  const shared = idle.map(usable);
  const most = Math.max(...shared);
  const best = idle[shared.indexOf(most)];
  return best !== undefined && most * 2 > best.nextTokenIndex ? best : idle[0];
}
