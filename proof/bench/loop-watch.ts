/**
 * Loaded into the gateway by `loop-hold.ts`: measures the CPU time its thread spends between two iterations of its
 * event loop.
 *
 * The clock is that of the thread, so other processes on the machine do not count. `JSON.parse` of the request's body,
 * which cannot be sliced, is measured with the same clock and subtracted from its iteration.
 */

/** Starts measuring. The next body has this many characters. */
export interface Watch {
  readonly bodyLength: number;
}

export interface Held {
  /** The longest iteration, without parsing the body. */
  readonly longestMs: number;
  readonly parseMs: number;
}

const parse = JSON.parse;
let bodyLength: number | undefined;
let longestMs = 0;
let parseMs = 0;
let parsedInTurnMs = 0;
let turnBegan = 0;

JSON.parse = (text, reviver) => {
  if (text.length !== bodyLength) return parse(text, reviver);
  const began = threadMs();
  try {
    return parse(text, reviver);
  } finally {
    parsedInTurnMs += threadMs() - began;
  }
};

process.on("message", (message: Watch | "end") => {
  if (message !== "end") {
    ({ bodyLength } = message);
    longestMs = 0;
    parseMs = 0;
    beginTurn();
    setImmediate(endTurn);
    process.send?.("watching");
    return;
  }
  bodyLength = undefined;
  process.send?.({ longestMs, parseMs } satisfies Held);
});
process.channel?.unref();
process.send?.("ready");

function beginTurn(): void {
  parsedInTurnMs = 0;
  turnBegan = threadMs();
}

function endTurn(): void {
  if (bodyLength === undefined) return;
  longestMs = Math.max(longestMs, threadMs() - turnBegan - parsedInTurnMs);
  parseMs = Math.max(parseMs, parsedInTurnMs);
  beginTurn();
  setImmediate(endTurn);
}

function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
