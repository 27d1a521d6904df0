/** Log entries about a model after its engine was probed. */
import { GPT_OSS_CONTEXT } from "../engines/models-probe.ts";
import type { Model, ModelStatus } from "../models/models.ts";
import type { Log } from "./log.ts";

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
