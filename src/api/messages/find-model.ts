/** Which model a name stands for. Programs made for Claude ask for `claude-…`, and the operator says what that is here. */
import type { Model, Models } from "../../models/models.ts";
import { RequestError } from "../errors.ts";

/** `pattern=model` with a pattern such as `claude-haiku-*`; a model alone stands for every `claude-*`. */
export type ClaudeAlias = string;

export type FindModel = (name: string) => Model | undefined;

/** The first alias that matches counts, and only for names that no served model has. */
export function createFindModel(models: Models, aliases: readonly ClaudeAlias[]): FindModel {
  const patterns = aliases.map((alias) => {
    const at = alias.indexOf("=");
    return at < 0
      ? { matches: toMatcher("claude-*"), model: alias }
      : { matches: toMatcher(alias.slice(0, at)), model: alias.slice(at + 1) };
  });
  return (name) => {
    const served = models.find(name);
    if (served !== undefined) return served;
    const alias = patterns.find(({ matches }) => matches(name));
    return alias && models.find(alias.model);
  };
}

export function unknownModel(name: string): RequestError {
  const hint = name.startsWith("claude-")
    ? ". This gateway serves gpt-oss: ask for a model that GET /v1/models lists, or let its operator set claudeAliases."
    : "";
  return new RequestError(`model: ${name}${hint}`, {
    status: 404,
    type: "not_found_error",
    param: "model",
    errorType: "not_found",
  });
}

/** A `*` at the end stands for anything. */
function toMatcher(pattern: string): (name: string) => boolean {
  if (!pattern.endsWith("*")) return (name) => name === pattern;
  const prefix = pattern.slice(0, -1);
  return (name) => name.startsWith(prefix);
}
