/**
 * Runs a background response: writes its events to the store while it runs, and the response when it has ended.
 *
 * The last event is not written. A follower builds it from the stored response, which is written after all other
 * events: if the process is killed at any moment, the events still end consistently with the response.
 */
import { StoreError } from "../../store/store-error.ts";
import { consume } from "../../streams/push-stream.ts";
import { sleep } from "../../streams/timers.ts";
import { describeError, ignoreStoreFailure } from "../errors.ts";
import { holdingStream } from "../reply/held-reply.ts";
import type { BackgroundWriter } from "./background-writer.ts";
import type { ResponsesContext } from "./context.ts";
import { toHeldTurn } from "./prepare.ts";
import { runResponse } from "./run.ts";
import type { StreamedResponse } from "./stream-response.ts";

/** Interval of writing a piece of new events. */
const PIECE_MS = 250;
/** Interval of writing the response itself and looking up a cancellation. */
const HEARTBEAT_MS = 1000;
/**
 * Maximum interval, in paces of the store: where the platform counts operations, both are written less often the longer
 * the response has run. Two such intervals must fit into the time after which a response counts as dead.
 */
const MAX_PACES = 5;
/** Interval of pieces as a share of the response's age. */
const AGE_SHARE = 1 / 16;

/** Runs the response. Rejects when its end could not be stored. */
export async function runInBackground(
  streamed: StreamedResponse,
  context: ResponsesContext,
  backgroundWriter: BackgroundWriter,
  abort: AbortController,
): Promise<void> {
  const { writer, builder } = streamed;
  // Pieces and heartbeats are written independently: heartbeats continue however slow the store is, and however many
  // events wait.
  const { clock } = context;
  const { paceMs } = context.store;
  const start = clock();
  const paced = (leastMs: number, share: number) => () =>
    Math.max(leastMs, paceMs, Math.min((clock() - start) * share, MAX_PACES * paceMs));
  const pieces = repeat(paced(PIECE_MS, AGE_SHARE), () => backgroundWriter.writePiece());
  const heartbeats = repeat(paced(HEARTBEAT_MS, 1), () => backgroundWriter.heartbeat(abort));
  try {
    const turnEvents = runResponse(streamed, context, abort.signal);
    await consume(holdingStream(turnEvents, toHeldTurn(streamed), context), (event) => {
      const events = writer.push(event);
      backgroundWriter.add(event.type === "end" ? events.slice(0, -1) : events);
      return true;
    });
  } catch (error) {
    if (abort.signal.aborted) {
      builder.cancel();
    } else {
      const { client, requestId } = streamed.caller;
      context.onFailure(error, requestId, client);
      backgroundWriter.add(writer.fail(describeError(error)).slice(0, -1));
    }
  } finally {
    await Promise.all([pieces.stop(), heartbeats.stop()]);
  }
  await persist(() => backgroundWriter.end(), context.shutdown.stopping);
}

/** Writes at intervals. No write starts while the previous one is in flight. */
function repeat(intervalMs: () => number, write: () => Promise<void>) {
  let last: Promise<void> | undefined;
  let timer = setTimeout(next, intervalMs());
  function next(): void {
    timer = setTimeout(next, intervalMs());
    last ??= write()
      .catch(ignoreStoreFailure)
      .finally(() => (last = undefined));
  }
  return {
    /** Resolves when no write is in flight. */
    async stop(): Promise<void> {
      clearTimeout(timer);
      await last;
    },
  };
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
