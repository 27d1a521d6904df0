/**
 * Runs a background response: writes its events to the store while it runs, and the response when it has ended.
 *
 * The last event is not written. Whoever follows the response makes it from the stored response, which is written after
 * all other events: a process that is killed at any moment leaves events that end as the response did.
 */
import { StoreError } from "../../store/store-error.ts";
import { consume } from "../../streams/push-stream.ts";
import { sleep } from "../../streams/timers.ts";
import { describeError } from "../errors.ts";
import type { BackgroundWriter } from "./background-writer.ts";
import type { ResponsesContext } from "./context.ts";
import { ignoreStoreFailure, runPending } from "./create-response.ts";
import type { StreamedResponse } from "./stream-response.ts";

/** How often new events are written. */
const FLUSH_MS = 200;
/** A heartbeat, which also checks for a cancellation, comes after every so many flushes. */
const TICKS_PER_HEARTBEAT = 5;

/** Runs the response. Rejects when its end could not be stored. */
export async function runInBackground(
  streamed: StreamedResponse,
  context: ResponsesContext,
  backgroundWriter: BackgroundWriter,
  abort: AbortController,
): Promise<void> {
  const { writer, builder } = streamed;
  const { stopping } = context.shutdown;
  let ticks = 0;
  let isBusy = false;
  const timer = setInterval(() => {
    // No further writes while a slow store is still busy with the last ones.
    if (isBusy) return;
    isBusy = true;
    void backgroundWriter
      .flush()
      .then(() =>
        ++ticks % TICKS_PER_HEARTBEAT === 0 ? backgroundWriter.heartbeat(abort) : undefined,
      )
      .catch(ignoreStoreFailure)
      .finally(() => (isBusy = false));
  }, FLUSH_MS);
  try {
    await consume(runPending(streamed, context, abort.signal), (event) => {
      const events = writer.push(event);
      backgroundWriter.add(event.type === "end" ? events.slice(0, -1) : events);
      return true;
    });
  } catch (error) {
    if (abort.signal.aborted) builder.cancel();
    else backgroundWriter.add(writer.fail(describeError(error)).slice(0, -1));
  } finally {
    clearInterval(timer);
  }
  await persist(() => backgroundWriter.flush(), stopping);
  await persist(() => backgroundWriter.end(), stopping);
}

/** Waits between attempts to write the end of a response. */
const RETRY_MS = [250, 500, 1000, 2000, 4000];

/** Retries while the store does not answer, because the response is complete and only has to be written. */
async function persist(write: () => Promise<void>, stopping: AbortSignal): Promise<void> {
  for (const wait of RETRY_MS) {
    try {
      return await write();
    } catch (error) {
      const mayPass = error instanceof StoreError && error.kind === "unavailable";
      if (!mayPass || stopping.aborted) throw error;
    }
    await sleep(wait, stopping);
  }
  return write();
}
