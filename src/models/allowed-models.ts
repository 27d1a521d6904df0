/** The models and presets of one client, from which all others are hidden. */
import type { FoundModel, Models } from "./models.ts";

/**
 * @param names names of models and presets, without suffixes. A preset is allowed by its own name only, and a model never by the
 * name of its preset.
 */
export function onlyAllowed(models: Models, names: readonly string[]): Models {
  const allowed = new Set(names.flatMap((name) => idOf(models.find(name)) ?? []));
  return {
    all: models.all.filter(({ id }) => allowed.has(id)),
    presets: models.presets.filter(({ preset }) => allowed.has(preset.name)),
    find(name) {
      const found = models.find(name);
      const id = idOf(found);
      if (found === undefined || id === undefined || !allowed.has(id)) return undefined;
      const own = found.preset && models.find(found.preset.name)?.model;
      // The name `model@preset/name` applies the preset of another model.
      const isOther = own !== undefined && own !== found.model;
      return isOther && !allowed.has(found.model.id) ? undefined : found;
    },
  };
}

function idOf(found: FoundModel | undefined): string | undefined {
  return found?.preset?.name ?? found?.model.id;
}
