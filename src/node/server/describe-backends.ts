/** Backends as the log shows them: no keys, and URLs without credentials. */
import { toBackends } from "../../config/backends.ts";
import type { Settings } from "../../config/settings.ts";
import { toPublicUrl } from "../../engines/server-url.ts";
import type { ModelOptions } from "../../models/models.ts";

export function describeBackends(settings: Settings, models: readonly ModelOptions[] | undefined) {
  if (models !== undefined) {
    return models.map(({ id, engine }) => ({
      model: id,
      backend: engine.name,
      engine: engine.name,
    }));
  }
  return toBackends(settings).map(({ servedName, name, engine, url }) => ({
    model: servedName,
    backend: name,
    engine,
    ...(url !== undefined && { url: toPublicUrl(url) }),
  }));
}
