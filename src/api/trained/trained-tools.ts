/**
 * The setting `trainedTools`: shows the model trained tools in place of the client's equivalent tools. The client sees
 * only its own names.
 */
import { toCodingFunction, toCodingNamespaces } from "../../harmony/coding-tools.ts";
import type { ToolNamespace } from "../../harmony/conversation.ts";
import { CompileBudget } from "../../json-schema/index.ts";
import type { ResponseHeaders } from "../../telemetry/response-headers.ts";
import type { Preset } from "../../turn/preset.ts";
import type { OfferedTool, ToolChoice, Turn } from "../../turn/turn.ts";
import { RequestError } from "../errors.ts";
import { compileEnforced } from "../request/enforced-schemas.ts";
import type { OfferedFunction } from "../request/offered-functions.ts";
import { toNameList } from "../tools/skipped-tools.ts";
import { toClientCall } from "./mapping.ts";
import { CLASS_OF, findMatches, type Match, shownTool } from "./match.ts";
import { PROFILES } from "./profiles.ts";
import { createTrainedHistory, type TrainedHistory } from "./trained-history.ts";

export interface TrainedTools {
  /** Namespaces for the system message. */
  readonly namespaces: readonly ToolNamespace[];
  readonly tools: readonly OfferedTool[];
  /** The client's tools that are not mapped. */
  readonly unmapped: readonly OfferedFunction[];
  /** The unmapped functions for the developer message: none if `tool_choice` is `none`. */
  readonly functions: readonly OfferedFunction[];
  readonly toolChoice: ToolChoice;
  /** Absent: no tool is mapped. */
  readonly history?: TrainedHistory;
  /** Trained tools with calls that could not be converted. Absent: the setting does not apply. */
  readonly unwritten?: ReadonlySet<string>;
}

/**
 * @param offered the client's tools, before `tool_choice` has excluded any: earlier calls are rendered equally,
 * whatever a request allows
 */
export function toTrainedTools(
  mode: Preset["trainedTools"],
  offered: readonly OfferedFunction[],
  toolChoice: ToolChoice,
): TrainedTools {
  const isNone = toolChoice.type === "none";
  if (mode !== "direct" || offered.length === 0) {
    const functions = isNone ? [] : offered;
    return { namespaces: [], tools: [], unmapped: offered, functions, toolChoice };
  }
  const mapped = toMapped(findMatches(PROFILES, offered));
  const matches = mapped.map(({ match }) => match);
  const targets = new Set(matches.map(({ target }) => target));
  const unmapped = offered.filter((each) => !targets.has(each));
  const history = matches.length > 0 ? createTrainedHistory(matches) : undefined;
  const earlier = {
    ...(history && { history }),
    unwritten: history?.missing ?? new Set<string>(),
  };
  if (isNone) {
    return { namespaces: [], tools: [], unmapped, functions: [], toolChoice, ...earlier };
  }
  return {
    namespaces: toCodingNamespaces(matches.map((match) => shownTool(match))),
    tools: mapped.map(({ tool }) => tool),
    unmapped,
    functions: unmapped,
    toolChoice: withTrainedNames(toolChoice, matches),
    ...earlier,
  };
}

/** If the schema of a tool cannot be checked, all tools of its profile stay functions. */
function toMapped(matches: readonly Match[]): { match: Match; tool: OfferedTool }[] {
  const budget = new CompileBudget();
  try {
    return matches.map((match) => ({ match, tool: toTool(match, budget) }));
  } catch (error) {
    if (error instanceof RequestError) return [];
    throw error;
  }
}

function toTool(match: Match, budget: CompileBudget): OfferedTool {
  const { tool, target, profile } = match;
  const { parameters, plainParameters, param, strict } = target;
  const checker =
    tool.isText || parameters === undefined
      ? undefined
      : compileEnforced(parameters, plainParameters, param, budget);
  return {
    name: tool.trained,
    recipient: tool.trained,
    strict,
    parameters: toCodingFunction(shownTool(match)).parameters,
    ...(checker && { checker }),
    mapped: {
      name: target.name,
      profile: `${profile.name}/${profile.version}`,
      isText: tool.isText ?? false,
      isRead: CLASS_OF[tool.trained] === "read",
      toClient: (body) => toClientCall(tool, body),
    },
  };
}

/** Renames targets in the choice to their trained tools, which may be called if their targets may. */
function withTrainedNames(choice: ToolChoice, matches: readonly Match[]): ToolChoice {
  if (choice.type !== "required" && choice.type !== "allowed") return choice;
  const trained = Map.groupBy(matches, ({ target }) => target.name);
  const names = choice.names.flatMap(
    (name) => trained.get(name)?.map(({ tool }) => tool.trained) ?? [name],
  );
  return { ...choice, names };
}

/** The calls of a turn that could not be written in trained form. */
export function unwrittenCalls({ unwritten }: TrainedTools): Pick<Turn, "unwrittenCalls"> {
  return unwritten === undefined ? {} : { unwrittenCalls: unwritten };
}

/**
 * The header of a reply: `Bash=container.exec, Read=repo_browser.open_file`, the client's tools and their trained
 * tools; `none` if the setting is on and no tool was recognized.
 */
export function trainedHeader({
  tools,
  unwrittenCalls: unwritten,
}: Pick<Turn, "tools" | "unwrittenCalls">): ResponseHeaders {
  const pairs = tools.flatMap(({ name, mapped }) => (mapped ? [`${mapped.name}=${name}`] : []));
  if (pairs.length > 0) return { "x-harmony-trained-tools": toNameList(pairs) };
  return unwritten === undefined ? {} : { "x-harmony-trained-tools": "none" };
}
