/** Holding back the status line until the engine has accepted, so that its refusal can still be a status. */

/**
 * Waits for the first event. Throws what the events throw before it; after `patienceMs` without one,
 * goes on regardless, because a client must not wait for headers as long as a model may take to load.
 * The result gives all events, the first included.
 */
export async function untilBegun<T>(
  events: AsyncIterable<T>,
  patienceMs: number,
): Promise<AsyncIterable<T>> {
  const iterator = events[Symbol.asyncIterator]();
  let first: Promise<IteratorResult<T>> | undefined = iterator.next();

  let timer: ReturnType<typeof setTimeout> | undefined;
  const patience = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, patienceMs);
  });
  try {
    await Promise.race([first, patience]);
  } finally {
    clearTimeout(timer);
  }

  return {
    [Symbol.asyncIterator]: () => ({
      next() {
        const result = first ?? iterator.next();
        first = undefined;
        return result;
      },
      return: async () => (await iterator.return?.()) ?? { done: true, value: undefined },
    }),
  };
}
