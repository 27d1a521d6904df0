/** The page's actions on a turn: pin it, save it, run it again, and compare it with another one. */
import type { Context, Hono } from "hono";
import type { ApiEnv } from "../api/request/client.ts";
import { PAGE_HEADERS } from "../pages/headers.ts";
import type { RecordEntry } from "../telemetry/record/entry.ts";
import { MAX_PINNED, type PinProblem } from "../telemetry/record/kept-records.ts";
import type { Recorder } from "../telemetry/record/recorder.ts";
import { whyNotAgain } from "./again.ts";
import { firstDifference } from "./first-difference.ts";
import type { InspectorOptions } from "./options.ts";

export const NOT_KEPT = "This turn is no longer kept.";
const NOT_ENDED = "The turn has not ended yet.";
const NO_ROOM = "The turn has run again, but the memory of the inspector has no room for the run.";

const PIN_PROBLEMS: Record<PinProblem, string> = {
  missing: NOT_KEPT,
  running: NOT_ENDED,
  full: `${MAX_PINNED} turns are pinned, or pinned turns take half of the memory. Unpin one first.`,
};

export function addTurnActions(app: Hono<ApiEnv>, options: InspectorOptions): void {
  const { recorder, capture } = options;

  app.post("/inspect/api/turns/:number/pin", (c) => {
    const problem = recorder.kept.pin(Number(c.req.param("number")));
    if (problem === undefined) return c.json({}, 200, PAGE_HEADERS);
    return c.json({ error: PIN_PROBLEMS[problem] }, problem === "missing" ? 404 : 409);
  });
  app.delete("/inspect/api/turns/:number/pin", (c) => {
    recorder.kept.unpin(Number(c.req.param("number")));
    return c.json({}, 200, PAGE_HEADERS);
  });
  app.post("/inspect/api/turns/:number/capture", async (c) => {
    if (capture === undefined) return c.json({ error: "No folder for captures is set." }, 404);
    return withEnded(c, c.req.param("number"), options, async (entry) => {
      try {
        return c.json({ path: await capture(entry) }, 200, PAGE_HEADERS);
      } catch (error) {
        return c.json({ error: `The turn could not be saved: ${messageOf(error)}.` }, 500);
      }
    });
  });
  addRuns(app, options);
}

/** Recorders with a run in progress: a reload of settings creates new routes, but the recorder stays. */
const running = new WeakSet<Recorder>();

/** Adds runs. The token permits the use of the engines, but for one run at a time, over all pages. */
function addRuns(app: Hono<ApiEnv>, options: InspectorOptions): void {
  const { runAgain, recorder } = options;

  app.post("/inspect/api/turns/:number/again", (c) =>
    withEnded(c, c.req.param("number"), options, async (entry) => {
      if (running.has(recorder)) {
        return c.json({ error: "A turn is being run again. Wait until it has ended." }, 409);
      }
      running.add(recorder);
      try {
        const record = await entry.record();
        const problem = whyNotAgain(record);
        if (problem !== undefined) return c.json({ error: problem }, 409);
        const number = await runAgain(record, c.req.raw.signal);
        if (number === undefined) return c.json({ error: NO_ROOM }, 409);
        return c.json({ number }, 200, PAGE_HEADERS);
      } catch (error) {
        return c.json({ error: `The turn could not be run again: ${messageOf(error)}.` }, 502);
      } finally {
        running.delete(recorder);
      }
    }),
  );
  app.get("/inspect/api/turns/:number/difference/:other", (c) =>
    withEnded(c, c.req.param("number"), options, (before) =>
      withEnded(c, c.req.param("other"), options, async (after) => {
        const difference = firstDifference(await before.record(), await after.record());
        return c.json({ difference: difference ?? null }, 200, PAGE_HEADERS);
      }),
    ),
  );
}

async function withEnded(
  c: Context<ApiEnv>,
  number: string,
  { recorder }: InspectorOptions,
  work: (entry: RecordEntry) => Promise<Response>,
): Promise<Response> {
  const entry = recorder.kept.find(Number(number));
  if (entry === undefined) return c.json({ error: NOT_KEPT }, 404);
  if (!entry.isComplete) return c.json({ error: NOT_ENDED }, 409);
  return work(entry);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
