/** Finds the tools of a request that are equivalent to trained tools, by their schemas and never by a guess. */
import { CODING_TOOLS, type CodingToolName } from "../../harmony/coding-tools.ts";
import { isObject } from "../../json-schema/index.ts";
import type { OfferedFunction } from "../request/offered-functions.ts";
import type { WrittenParameter } from "./fields.ts";
import { type Profile, type ProfileTool, TOOL_CLASSES, type ToolClass } from "./profile.ts";

/** The class of each trained tool. */
export const CLASS_OF: Record<CodingToolName, ToolClass> = {
  "container.exec": "exec",
  "repo_browser.print_tree": "read",
  "repo_browser.search": "read",
  "repo_browser.open_file": "read",
  "repo_browser.list_dir": "read",
  "repo_browser.apply_patch": "edit",
};

/** Patterns of names or descriptions of equivalent tools, because a schema with one text fits many tools. */
const SAYS: Record<CodingToolName, RegExp> = {
  "container.exec": /\b(?:ba)?sh\b|shell|command|terminal/i,
  "repo_browser.print_tree": /tree/i,
  "repo_browser.search": /grep|search/i,
  "repo_browser.open_file": /\bread/i,
  "repo_browser.list_dir": /\bread|list|director/i,
  // Other patch tools have other formats.
  "repo_browser.apply_patch": /apply_patch/,
};

/** Shells that do not understand `["bash", "-lc", …]`. */
const OTHER_SHELL = /power\s?shell|\bpwsh\b|\bcmd\.exe\b/i;

export interface Match {
  readonly profile: Profile;
  readonly tool: ProfileTool;
  readonly target: OfferedFunction;
}

/**
 * The tools of the profile that fits best: most tools, then most of their usual names. Empty: no profile fits, or two
 * fit equally.
 */
export function findMatches(
  profiles: readonly Profile[],
  offered: readonly OfferedFunction[],
): readonly Match[] {
  if (offered.some((each) => isTrainedName(each))) return [];
  const fits = profiles
    .map((profile) => matchProfile(profile, offered))
    .filter((matches) => matches.length > 0)
    .toSorted((a, b) => b.length - a.length || named(b) - named(a));
  const [best = [], next = []] = fits;
  const isTie = best.length === next.length && named(best) === named(next);
  return isTie ? [] : best;
}

/** Whether the client's own tool has a trained name. Calls of that name then belong to the client's tool. */
function isTrainedName({ name, namespace }: OfferedFunction): boolean {
  const trained = /^(?:container|repo_browser)(?![A-Za-z0-9])/i;
  return trained.test(namespace?.name ?? name) || trained.test(name);
}

function named(matches: readonly Match[]): number {
  return matches.filter(({ tool, target }) => tool.name === target.name).length;
}

function matchProfile(profile: Profile, offered: readonly OfferedFunction[]): Match[] {
  const matches = new Map<CodingToolName, Match>();
  for (const tool of profile.tools) {
    if (matches.has(tool.trained)) continue;
    const target = findTarget(tool, offered);
    if (target !== undefined) matches.set(tool.trained, { profile, tool, target });
  }
  return [...matches.values()];
}

function findTarget(
  tool: ProfileTool,
  offered: readonly OfferedFunction[],
): OfferedFunction | undefined {
  const all = offered.filter((each) => fitsTool(tool, each));
  return all.length > 1 ? all.find(({ name }) => name === tool.name) : all[0];
}

function fitsTool(tool: ProfileTool, offered: OfferedFunction): boolean {
  const { name, description, namespace, text, isLater } = offered;
  if (namespace !== undefined || isLater) return false;
  if (TOOL_CLASSES.indexOf(tool.target) > TOOL_CLASSES.indexOf(CLASS_OF[tool.trained]))
    return false;
  const says = `${name}\n${description.slice(0, MAX_DESCRIPTION)}`;
  if (!SAYS[tool.trained].test(says)) return false;
  if (CLASS_OF[tool.trained] === "exec" && OTHER_SHELL.test(says)) return false;
  if (tool.isText || text !== undefined) return tool.isText === true && text !== undefined;
  return fitsSchema(
    tool.fields.flatMap(({ writes }) => writes),
    offered.plainParameters,
  );
}

/** Characters of a description that are searched: longer descriptions are manuals, which name other tools. */
const MAX_DESCRIPTION = 500;

/** Whether the tool accepts all arguments that the mapping may write, and requires none that it may omit. */
function fitsSchema(writes: readonly WrittenParameter[], schema: unknown): boolean {
  if (!isObject(schema) || schema["type"] !== "object" || !isObject(schema["properties"])) {
    return false;
  }
  const { properties } = schema;
  const ofName = (name: string) => Object.getOwnPropertyDescriptor(properties, name)?.value;
  if (!writes.every((each) => fitsParameter(each, ofName(each.name)))) return false;
  const required = schema["required"] ?? [];
  const always = new Set(writes.flatMap(({ name, isAlways }) => (isAlways ? [name] : [])));
  return Array.isArray(required) && required.every((name) => always.has(name));
}

function fitsParameter(
  { type, value, isMilliseconds }: WrittenParameter,
  schema: unknown,
): boolean {
  if (!isObject(schema)) return false;
  if (isMilliseconds && countsSeconds(schema["description"])) return false;
  const types = new Set([schema["type"]].flat());
  if (!types.has(type) && !(type === "number" && types.has("integer"))) return false;
  if (type === "array" && !(isObject(schema["items"]) && schema["items"]["type"] === "string")) {
    return false;
  }
  const values = schema["enum"] ?? ("const" in schema ? [schema["const"]] : undefined);
  return (
    values === undefined || (Array.isArray(values) && value !== undefined && values.includes(value))
  );
}

function countsSeconds(description: unknown): boolean {
  if (typeof description !== "string") return false;
  const says = description.slice(0, MAX_DESCRIPTION);
  return /second/i.test(says) && !/milli|\bms\b/i.test(says);
}

/** The trained tool's definition for the model, without parameters that the client's tool lacks. */
export function shownTool({ tool }: Match) {
  const { description, parameters, required, ...names } = CODING_TOOLS[tool.trained];
  const reads = new Set(tool.fields.flatMap((field) => (field.isHidden ? [] : field.reads)));
  const known = Object.entries({ ...parameters, ...OWN_PARAMETERS[tool.trained] });
  return {
    ...names,
    description: tool.note === undefined ? description : `${description}\n${tool.note}`,
    parameters: Object.fromEntries(known.filter(([name]) => reads.has(name))),
    required: required.filter((name) => reads.has(name)),
  };
}

/**
 * Parameters missing in the reconstructed definitions, although their descriptions name them, or the model writes them
 * anyway.
 */
const OWN_PARAMETERS: Partial<Record<CodingToolName, Record<string, object>>> = {
  "container.exec": {
    workdir: { type: "string", description: "The working directory of the command" },
    timeout: { type: "number", description: "Milliseconds after which the command is ended" },
  },
};
