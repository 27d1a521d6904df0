/**
 * Resolves model names. Programs made for Claude request `claude-…`; the operator configures which model
 * serves such a name.
 */
import type { FoundModel, Models } from "../../models/models.ts";
import { RequestError } from "../errors.ts";
import { listAvailable, UNKNOWN_MODEL_REASON } from "../request/unknown-model.ts";

/** `pattern=model` with a pattern such as `claude-haiku-*`. A model alone applies to every `claude-*`. */
export type ClaudeAlias = string;

export type FindModel = (models: Models, name: string) => FoundModel | undefined;

/** The first matching alias wins. Aliases apply only to names that no served model has. */
export function createFindModel(aliases: readonly ClaudeAlias[]): FindModel {
  const patterns = aliases.map((alias) => {
    const at = alias.indexOf("=");
    return at < 0
      ? { matches: toMatcher("claude-*"), model: alias }
      : { matches: toMatcher(alias.slice(0, at)), model: alias.slice(at + 1) };
  });
  return (models, name) => {
    const served = models.find(name);
    if (served !== undefined) return served;
    const alias = patterns.find(({ matches }) => matches(name));
    return alias && models.find(alias.model);
  };
}

export function unknownModel(name: string, models: Models): RequestError {
  const hint = name.startsWith("claude-")
    ? " This gateway serves gpt-oss; its operator can set claudeAliases."
    : "";
  return new RequestError(`model: ${name}.${listAvailable(models)}${hint}`, {
    reason: UNKNOWN_MODEL_REASON,
    status: 404,
    type: "not_found_error",
    param: "model",
    errorType: "not_found",
  });
}

/** A trailing `*` matches any text. */
function toMatcher(pattern: string): (name: string) => boolean {
  if (!pattern.endsWith("*")) return (name) => name === pattern;
  const prefix = pattern.slice(0, -1);
  return (name) => name.startsWith(prefix);
}
