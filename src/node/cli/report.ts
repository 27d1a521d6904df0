/** What the log says of models and their backends. */
import { toBackends } from "../../config/backends.ts";
import { toPresets } from "../../config/presets.ts";
import type { Settings } from "../../config/settings.ts";
import type { BackendState } from "../../engines/pool/backend.ts";
import { GPT_OSS_CONTEXT } from "../../engines/context-length.ts";
import { describeKind } from "../../engines/pool/error-class.ts";
import type { Model, Models, ModelStatus } from "../../models/models.ts";
import type { Log } from "../../telemetry/log.ts";

export function reportStatus(model: Model, status: ModelStatus, log: Log): void {
  switch (status.state) {
    case "ready": {
      const { description, capabilities, warnings = [] } = status.probe;
      log.info("engine ready", {
        model: model.id,
        description,
        contextLength: model.contextLength,
      });
      if (capabilities.idsOut === "unmarked") {
        log.warn("engine hides control tokens", { model: model.id });
      }
      if (model.contextLength === undefined) {
        const message = `The server does not report a context length, and none is configured: clients read ${GPT_OSS_CONTEXT}. Set contextLength if it is less.`;
        log.warn("engine warning", { model: model.id, message });
      }
      for (const message of warnings) log.warn("engine warning", { model: model.id, message });
      return;
    }
    case "unavailable":
      log.warn("engine unavailable", { model: model.id, reason: status.reason });
      return;
    case "unknown":
      return;
    default:
      status satisfies never;
  }
}

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
