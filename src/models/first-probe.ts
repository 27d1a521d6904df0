/**
 * Requests that arrive while an engine is probed for the first time wait for its context length. Without it, the token
 * limit of an answer is a guess, and servers refuse a request whose limit exceeds their context.
 */
import { consume, createPushStream, type PushStream } from "../streams/push-stream.ts";
import { followSignal } from "../streams/follow-signal.ts";
import { sleep } from "../streams/timers.ts";

/** Maximum wait, so that an unresponsive engine does not hold requests until the probe's own timeout. */
const LONGEST_WAIT_MS = 5_000;

/** Runs the turn when the probe has ended, or the wait has become too long. Fails with the reason of an aborted signal. */
export function runAfterProbe<T>(
  probe: Promise<void>,
  run: () => AsyncIterable<T>,
  signal: AbortSignal,
): PushStream<T> {
  return createPushStream(async (consumer) => {
    const probed = new AbortController();
    void probe.then(() => probed.abort());
    const release = followSignal(probed, signal);
    await sleep(LONGEST_WAIT_MS, probed.signal);
    release();
    signal.throwIfAborted();
    await consume(run(), consumer);
  });
}
