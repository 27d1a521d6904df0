/**
 * Runs a recorded turn again on the gateway's own models, as the operator: with the recorded conversation as its prompt, under a
 * separate tenant, with a temporary store. So the run uses no client's key, changes nothing that a client has stored, runs no
 * tool, and waits for an engine in a separate queue. The log and the audit name the tenant.
 */
import { sha256Hex } from "../../api/sha256.ts";
import type { AppDeps } from "../../app.ts";
import { OPERATOR } from "../../inspect/again.ts";
import type { Recorder } from "../../telemetry/record/recorder.ts";
import type { TurnRecord } from "../../telemetry/record/schema.ts";
import { sendAgain, withRecordedSettings } from "../replay/run-again.ts";
import { contentText } from "../replay/read-record.ts";
import { randomId } from "../random-id.ts";

export interface OperatorDeps extends Pick<
  AppDeps,
  "settings" | "models" | "log" | "shutdown" | "writeAudit" | "textCacheBytes" | "pause"
> {
  /** The recorder that lists the run beside the turns of clients. */
  readonly recorder: Recorder;
}

/** Resolves with the number of the new record; undefined if the record was dropped already. */
export async function runAsOperator(
  record: TurnRecord,
  deps: OperatorDeps,
  signal: AbortSignal,
): Promise<number | undefined> {
  const { recorder } = deps;
  const key = randomId();
  const id = `run_${randomId()}`;
  const settings = withRecordedSettings(
    {
      ...deps.settings,
      keys: [{ name: OPERATOR, sha256: await sha256Hex(key) }],
      // The recorded conversation contains the results for images: they are neither fetched nor described again.
      visionUrl: undefined,
      visionModel: undefined,
    },
    record,
  );
  const { status } = await sendAgain(
    withOneChoice(record),
    { ...deps, settings, pages: false, now: Date.now, randomId },
    {
      headers: {
        authorization: `Bearer ${key}`,
        "x-request-id": id,
        "x-harmony-fork-of": record.id,
      },
      signal,
    },
  );
  const run = recorder.kept.entries.findLast((entry) => entry.summary().id === id);
  // A request that is rejected before it is recorded leaves nothing else to show.
  if (run === undefined && status >= 400) throw new Error(`it was refused with status ${status}`);
  return run?.number;
}

/** Reduces the request to one choice. Further choices would be turns without the recorded conversation. */
function withOneChoice(record: TurnRecord): TurnRecord {
  if (record.request === null) return record;
  const body: unknown = JSON.parse(contentText(record.request.body));
  if (typeof body !== "object" || body === null || !("n" in body)) return record;
  const { n: _, ...rest } = body;
  return { ...record, request: { ...record.request, body: JSON.stringify(rest) } };
}
