/** Several turns of one request read as one stream, each event with the number of its turn. */
import type { TurnEvent } from "./turn.ts";

export interface IndexedEvent {
  readonly index: number;
  readonly event: TurnEvent;
}

/** Events in the order they arrive. When one turn throws, the others are let go and the error is thrown. */
export async function* mergeTurns(
  turns: readonly AsyncIterable<TurnEvent>[],
): AsyncGenerator<IndexedEvent> {
  const [only] = turns;
  if (turns.length === 1 && only) {
    for await (const event of only) yield { index: 0, event };
    return;
  }
  const iterators = turns.map((turn) => turn[Symbol.asyncIterator]());
  const waiting = new Map(iterators.map((iterator, index) => [index, next(iterator, index)]));
  try {
    while (waiting.size > 0) {
      const { index, result } = await Promise.race(waiting.values());
      if (result.done) {
        waiting.delete(index);
      } else {
        const iterator = iterators[index];
        if (iterator) waiting.set(index, next(iterator, index));
        yield { index, event: result.value };
      }
    }
  } finally {
    for (const pending of waiting.values()) pending.catch(() => {});
    for (const iterator of iterators) void iterator.return?.().catch(() => {});
  }
}

async function next(iterator: AsyncIterator<TurnEvent>, index: number) {
  return { index, result: await iterator.next() };
}
