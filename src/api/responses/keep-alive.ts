/**
 * Keep-alives of a stream. Most are comments; every few are events, because some clients (Codex) count only events, and
 * repeat a turn whose model thinks or waits for longer than they wait.
 */
import { sseFrame } from "../reply/event-stream.ts";
import type { PrefillNote } from "../reply/prefill-note.ts";
import type { EventWriter } from "./to-events.ts";

/** Frames for one stream, in order. */
export function keepAliveFrames(
  writer: EventWriter,
  { keepAlive: comment }: PrefillNote,
  keepAliveMs: number,
): () => string {
  const every = keepAlivesPerEvent(keepAliveMs);
  let count = 0;
  return () => {
    if (++count % every > 0) return comment();
    const frames = writer.keepAlive().map(({ type, json }) => sseFrame(json, type));
    return frames.length === 0 ? comment() : frames.join("");
  };
}

/** Interval of keep-alive events on a WebSocket, which has no comments. */
export function eventIntervalMs(keepAliveMs: number): number {
  return keepAliveMs * keepAlivesPerEvent(keepAliveMs);
}

/** Codex waits for 300 seconds. */
const LONGEST_SILENCE_MS = 120_000;
const MOST_COMMENTS = 4;

function keepAlivesPerEvent(keepAliveMs: number): number {
  return Math.min(MOST_COMMENTS, Math.max(1, Math.floor(LONGEST_SILENCE_MS / keepAliveMs)));
}
