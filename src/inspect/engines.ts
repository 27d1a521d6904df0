/** The state of the engines, for the inspector's page. The reason of a failed probe is the only text of a server in it. */
import type { Models } from "../models/models.ts";
import type { Recorder } from "../telemetry/record/recorder.ts";

export function toEngineRows(models: Models, recorder: Pick<Recorder, "writtenBy">) {
  return models.all.map(({ id, status, contextLength, pool }) => ({
    id,
    state: status.state,
    reason: status.state === "unavailable" ? status.reason : null,
    version: status.state === "ready" ? status.probe.description : null,
    contextLength: contextLength ?? null,
    /** Tokens since recording began. */
    written: recorder.writtenBy(id),
    queued: pool?.queued ?? 0,
    backends: (pool?.backends ?? []).map(({ id: name, health, inFlight, failed }) => ({
      id: name,
      health,
      inFlight,
      failed,
    })),
  }));
}
