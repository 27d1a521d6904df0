/** Checks at start that presets, and the models of keys, fit the models that are served. */
import { servedNames, spellings, toBackends } from "./backends.ts";
import { toPresets } from "./presets.ts";
import type { Settings } from "./settings.ts";
import { suggest } from "./suggest.ts";

/** Why presets cannot work with the models that are served. */
export function presetProblems(settings: Settings): string[] {
  const served = servedNames(settings);
  const taken = new Set(served.keys());
  // Models that a server offers are known once it has been asked.
  const isComplete = toBackends(settings).every(({ findsModel }) => !findsModel);
  return toPresets(settings).flatMap(({ name, model, lock, ...given }) => {
    const where = `presets.${name}`;
    const problems: string[] = [];
    if (spellings(name).some((spelling) => taken.has(spelling))) {
      problems.push(`${where}: a model or another preset has this name already.`);
    }
    for (const spelling of spellings(name)) taken.add(spelling);
    if (!served.has(model) && (isComplete || Object.hasOwn(settings.presets, model))) {
      problems.push(
        Object.hasOwn(settings.presets, model)
          ? `${where}.model: ${model} is a preset. Name the model that answers.`
          : `${where}.model: ${model} is not served.${suggest(model, [...served.keys()])}`,
      );
    }
    for (const tool of given.builtinTools ?? []) {
      if (settings.builtinTools.includes(tool)) continue;
      problems.push(
        `${where}.builtinTools: ${tool} is not among builtinTools. Add it there as well.`,
      );
    }
    for (const field of lock) {
      if (given[field] !== undefined) continue;
      problems.push(`${where}.lock: ${field} has no value to be locked. Set ${where}.${field}.`);
    }
    return problems;
  });
}

/** Why keys and Claude's names cannot use the models that they name. */
export function namedModelProblems(settings: Settings): string[] {
  if (toBackends(settings).some(({ findsModel }) => findsModel)) return [];
  const presets = Object.keys(settings.presets);
  const known = new Set([...servedNames(settings).keys(), ...presets.flatMap(spellings)]);
  const unknown = (model: string) =>
    `${model}, which is neither a model nor a preset.${suggest(model, [...known])}`;
  return [
    ...settings.keys.flatMap(({ name, models = [] }) =>
      models
        .filter((model) => !known.has(model))
        .map((model) => `keys: ${name} may use ${unknown(model)}`),
    ),
    ...settings.claudeAliases
      .map((alias) => alias.slice(alias.indexOf("=") + 1))
      .filter((model) => !isNamed(known, model))
      .map((model) => `claudeAliases: a name stands for ${unknown(model)}`),
  ];
}

/** Also with suffixes or a preset, `gpt-oss-20b:high`, which are not checked here. */
function isNamed(known: ReadonlySet<string>, model: string): boolean {
  const name = model.replace(/^@preset\//, "");
  if (known.has(name)) return true;
  return [...known].some((each) => /^[:@-]/.test(name.slice(each.length)) && name.startsWith(each));
}
