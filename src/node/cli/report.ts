/** What the log says of models and their backends. */
import type { BackendState } from "../../engines/pool/backend.ts";
import { GPT_OSS_CONTEXT } from "../../engines/context-length.ts";
import { describeKind } from "../../engines/pool/judge.ts";
import type { Model, ModelStatus } from "../../models/models.ts";
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
