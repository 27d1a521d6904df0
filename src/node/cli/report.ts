/** What the log says of models and their backends. */
import { toBackends } from "../../config/backends.ts";
import { toPresets } from "../../config/presets.ts";
import type { Settings } from "../../config/settings.ts";
import type { BackendState } from "../../engines/pool/backend.ts";
import { describeKind } from "../../engines/pool/error-class.ts";
import type { Model, Models } from "../../models/models.ts";
import type { Log } from "../../telemetry/log.ts";

/** Presets whose model no server offers. Where the operator has named all models, such a preset is an error at start. */
export function reportLeftOut({ presets }: Models, settings: Settings, log: Log): void {
  if (toBackends(settings).some(({ findsModel }) => findsModel)) return;
  const served = new Set(presets.map(({ preset }) => preset.name));
  for (const { name, model } of toPresets(settings)) {
    if (served.has(name)) continue;
    const message = `presets.${name} is left out: no server offers its model ${model}.`;
    log.warn("warning", { message });
  }
}

export function reportHealth(model: Model, { id, health, reason }: BackendState, log: Log): void {
  const fields = { model: model.id, backend: id };
  switch (health) {
    case "up":
      log.info("backend up", fields);
      return;
    case "down":
    case "degraded":
      log.warn(`backend ${health}`, {
        ...fields,
        reason: reason === undefined ? "a health check failed" : describeKind(reason),
      });
      return;
    case "unknown":
      return;
    default:
      health satisfies never;
  }
}

/** Once there is a check after all, there is nothing to say. */
export function reportMissingCheck(
  model: Model,
  { id, missingCheck }: BackendState,
  log: Log,
): void {
  if (missingCheck === undefined) return;
  log.warn("no health check", { model: model.id, backend: id, reason: missingCheck });
}
