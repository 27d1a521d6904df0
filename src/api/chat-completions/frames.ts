/** The chunks of a completion as server-sent events. */
import { createPushStream, type PushStream } from "../../streams/push-stream.ts";
import type { Pause } from "../../streams/slices.ts";
import { mergeTurns } from "../../turn/merge.ts";
import type { TurnEvent, TurnUsage } from "../../turn/turn.ts";
import type { ErrorDescription } from "../errors.ts";
import { sseFrame } from "../reply/event-stream.ts";
import { afterBoth, createPace } from "../reply/held-reply.ts";
import type { Opening } from "../reply/stream-reply.ts";
import { toErrorBody } from "./errors.ts";
import { addUsage, type ReplyOptions } from "./reply.ts";
import { ChunkWriter, usageChunk } from "./to-chunks.ts";

/** All chunks of all choices as server-sent events. Never fails: a failure is the last chunk. */
export function toFrames(
  turns: readonly AsyncIterable<TurnEvent>[],
  options: ReplyOptions,
  abort: AbortController,
  { hints, fail, pause }: Pick<Opening, "hints" | "fail"> & { readonly pause: Pause },
): PushStream<string> {
  return createPushStream(async (consumer) => {
    const pace = options.logprobs ? createPace(pause) : undefined;
    const writers = turns.map((_, index) => new ChunkWriter(options, index));
    const ended = new Map<number, TurnUsage>();
    try {
      await mergeTurns(turns, (event, index) => {
        let frames = writers[index]?.push(event) ?? "";
        if (event.type === "end") {
          ended.set(index, event.usage);
          hints.isLast = ended.size === turns.length;
          if (hints.isLast) {
            // By choice, whichever has ended first.
            const usages = turns.flatMap((_, at) => ended.get(at) ?? []);
            frames += endFrames(usages, options);
          }
        }
        const demand = frames === "" || consumer(frames);
        return pace === undefined ? demand : afterBoth(pace(frames.length), demand);
      });
    } catch (error) {
      const description = hints.isLast ? undefined : fail(error);
      // Stops the other choices, which may still be queued or running.
      abort.abort(error);
      if (description === undefined) return;
      const running = writers.filter((_, index) => !ended.has(index));
      await consumer(failureFrames(description, running, options));
    }
  });
}

/** The only frames of a completion that cannot be run. */
export function toFailureFrames(error: ErrorDescription, options: ReplyOptions): string {
  return failureFrames(error, [new ChunkWriter(options, 0)], options);
}

function failureFrames(
  error: ErrorDescription,
  running: readonly ChunkWriter[],
  options: ReplyOptions,
): string {
  const chunks = running.map((writer) => writer.fail(error)).join("");
  return chunks + plainErrorFrame(error, options);
}

/** The AI SDK's OpenAI provider reads errors only from events that are not chunks; OpenRouter's SDK refuses such events. */
function plainErrorFrame(error: ErrorDescription, { errorCodes }: ReplyOptions): string {
  return errorCodes === "integers" ? "" : sseFrame(JSON.stringify(toErrorBody(error, errorCodes)));
}

function endFrames(usages: readonly TurnUsage[], options: ReplyOptions): string {
  return sseFrame(usageChunk(addUsage(usages), options)) + sseFrame("[DONE]");
}
