/** Finds the trained tools that the model is shown in place of the client's. */
import { isBuiltInTool } from "../harmony/recipient.ts";
import type { OfferedTool, Turn } from "./turn.ts";

export function hasMappedTools({ tools }: Pick<Turn, "tools">): boolean {
  return tools.some(({ mapped }) => mapped !== undefined);
}

/**
 * The tool of a call. Models also write the end of a name, `browser.search` for `repo_browser.search`: it is read as such
 * where only one tool can be meant, which only reads, and the other namespace is not offered.
 */
export function findMappedTool({ tools, builtins }: Turn, name: string): OfferedTool | undefined {
  if (!hasMappedTools({ tools })) return undefined;
  const offered = tools.find((tool) => tool.name === name);
  if (offered !== undefined) return offered.mapped && offered;
  const [namespace = ""] = name.split(".");
  const isOffered =
    builtins?.tools.some((tool) => tool.accepts(name)) ||
    tools.some((tool) => tool.name === namespace || tool.name.startsWith(`${namespace}.`));
  if (isOffered || !isBuiltInTool(name)) return undefined;
  const ends = tools.filter((tool) => tool.mapped?.isRead && tool.name.endsWith(`_${name}`));
  return ends.length === 1 ? ends[0] : undefined;
}

/** The client's tool in whose place a trained one is shown, if the model calls it by the client's name. */
export function findOwnTool({ tools }: Pick<Turn, "tools">, name: string): OfferedTool | undefined {
  const tool = tools.find(({ mapped }) => mapped?.name === name);
  if (tool?.mapped === undefined) return undefined;
  const { strict, checker, mapped } = tool;
  return {
    name,
    strict,
    ...(checker && { checker }),
    ...(mapped.isText && { text: { formats: [] } }),
  };
}
