/**
 * Assigns completions to the sequences of the model's context.
 *
 * A sequence keeps the tokens it evaluated last, so a prompt that begins with them needs only the rest evaluated. A
 * prompt therefore gets the idle sequence with the longest common prefix. If that would discard more than half of the
 * sequence's tokens, it gets the sequence that has been idle longest instead: another conversation's cache is worth more
 * than a shared system message. Completions beyond the number of sequences wait.
 */
export interface Sequence {
  /** How many tokens it holds. */
  nextTokenIndex(): number;
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
        const receive = (sequence: S) => {
          signal.removeEventListener("abort", leave);
          resolve(sequence);
        };
        const leave = () => {
          waiting.splice(waiting.indexOf(receive), 1);
          reject(signal.reason);
        };
        waiting.push(receive);
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
  return best !== undefined && most * 2 > best.nextTokenIndex() ? best : idle[0];
}
