/** Notifies open pages of turns that have begun, changed or ended, by server-sent events. */
import type { RecordEntry } from "../telemetry/record/entry.ts";
import type { KeptRecords } from "../telemetry/record/kept-records.ts";
import type { Recorder } from "../telemetry/record/recorder.ts";

/** Maximum number of pages that listen at the same time. */
const MAX_PAGES = 16;
/** Milliseconds for which changes are collected, so that a busy gateway does not send an event per turn and page. */
const GATHER_MS = 150;
const KEEP_ALIVE_MS = 15_000;
/** Maximum changes that wait for a page which does not read. Above it, the page loads the list again. */
const MAX_WAITING = 2000;

interface Listened extends Pick<Recorder, "listen"> {
  readonly kept: Pick<KeptRecords, "find">;
}

const open = new WeakMap<Listened, number>();

/**
 * Undefined: too many pages are connected. A page that stops reading gets the latest state when it reads again, and keeps no turn
 * in memory meanwhile.
 */
export function streamChanges(
  recorder: Listened,
  toRow: (entry: RecordEntry) => object,
  signals: readonly AbortSignal[],
): ReadableStream<Uint8Array> | undefined {
  const pages = open.get(recorder) ?? 0;
  if (pages >= MAX_PAGES) return undefined;
  open.set(recorder, pages + 1);
  const encoder = new TextEncoder();
  const changed = new Set<number>();
  let isBehind = false;
  let gathering: ReturnType<typeof setTimeout> | undefined;
  let keepAlive: ReturnType<typeof setInterval> | undefined;
  let stop: (() => void) | undefined;
  let isOver = false;
  let close: (() => void) | undefined;

  const end = (): void => {
    if (isOver) return;
    isOver = true;
    stop?.();
    clearTimeout(gathering);
    clearInterval(keepAlive);
    for (const signal of signals) signal.removeEventListener("abort", end);
    close?.();
    open.set(recorder, (open.get(recorder) ?? 1) - 1);
  };

  return new ReadableStream<Uint8Array>({
    start(controller) {
      const send = (text: string): void => {
        if (!isOver) controller.enqueue(encoder.encode(text));
      };
      const flush = (): void => {
        gathering = undefined;
        // While there is no room, changes wait, at most one entry per turn.
        if ((controller.desiredSize ?? 0) <= 0) {
          gathering = setTimeout(flush, GATHER_MS);
          return;
        }
        const news = isBehind ? { isBehind } : toNews(changed, recorder, toRow);
        changed.clear();
        isBehind = false;
        send(`data: ${JSON.stringify(news)}\n\n`);
      };
      stop = recorder.listen(({ number }) => {
        changed.add(number);
        if (changed.size > MAX_WAITING) {
          changed.clear();
          isBehind = true;
        }
        gathering ??= setTimeout(flush, GATHER_MS);
      });
      keepAlive = setInterval(() => {
        if ((controller.desiredSize ?? 0) > 0) send(": \n\n");
      }, KEEP_ALIVE_MS);
      send(": \n\n");
      close = () => controller.close();
      for (const signal of signals) signal.addEventListener("abort", end, { once: true });
      if (signals.some(({ aborted }) => aborted)) end();
    },
    cancel() {
      close = undefined;
      end();
    },
  });
}

/** The changed turns, and the numbers of dropped ones. */
function toNews(
  changed: ReadonlySet<number>,
  recorder: Listened,
  toRow: (entry: RecordEntry) => object,
) {
  const rows: object[] = [];
  const dropped: number[] = [];
  for (const number of changed) {
    const entry = recorder.kept.find(number);
    if (entry === undefined) dropped.push(number);
    else rows.push(toRow(entry));
  }
  return { rows, dropped };
}
