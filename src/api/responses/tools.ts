/** The tools of a request: as the turn offers them, and as calls of them are written on the wire. */
import type { Json } from "../../harmony/json.ts";
import { FUNCTIONS } from "../../harmony/messages.ts";
import type { Namespace } from "../../harmony/tool-names.ts";
import { RequestError } from "../errors.ts";
import {
  type OfferedFunction,
  refuseDuplicates,
  toOfferedFunction,
  turnName,
} from "../offered-functions.ts";
import { jsonAt } from "../ordered-json.ts";
import type { Tool } from "./request.ts";

export interface RequestTools {
  readonly offered: readonly OfferedFunction[];
  /** What the calls of each offered tool are on the wire, by the tool's name in the turn. */
  readonly targets: CallTargets;
  /** What was left out: kinds, and `namespace.kind` inside of a namespace. */
  readonly skipped: readonly string[];
}

/** The tool of a call as its client names it. */
export interface CallTarget {
  readonly namespace?: string;
  readonly name: string;
}

export type CallTargets = ReadonlyMap<string, CallTarget>;

export interface ToolsOptions {
  /** The tools with their key order kept. */
  readonly ordered: Json | undefined;
  /** Answer 400 for tools that cannot be served, instead of leaving them out. */
  readonly refuses: boolean;
  /** Most tools, those of namespaces included. */
  readonly maxTools: number;
}

/** Throws a {@link RequestError} for two tools of one name, and for too many. */
export function readTools(
  tools: readonly Tool[],
  { ordered, refuses, maxTools }: ToolsOptions,
): RequestTools {
  const offered: OfferedFunction[] = [];
  const skipped: string[] = [];

  function add(tool: Tool, at: readonly (string | number)[], namespace?: Namespace): void {
    const param = toParam(at);
    switch (tool.type) {
      case "function": {
        const schema = jsonAt(ordered, [...at, "parameters"]);
        offered.push(toOfferedFunction(tool, schema, `${param}.parameters`, namespace));
        if (offered.length > maxTools) throw tooMany(maxTools);
        return;
      }
      case "namespace": {
        const { name, description } = tool;
        const inner =
          name === FUNCTIONS ? undefined : { name, ...(description && { description }) };
        for (const [index, each] of tool.tools.entries()) add(each, [...at, "tools", index], inner);
        return;
      }
      case "unsupported": {
        if (refuses) throw unsupportedTool(tool.kind, `${param}.type`);
        skipped.push(namespace === undefined ? tool.kind : `${namespace.name}.${tool.kind}`);
        return;
      }
      default:
        tool satisfies never;
    }
  }

  for (const [index, tool] of tools.entries()) add(tool, [index]);
  refuseDuplicates(offered);
  return { offered, targets: new Map(offered.map(toEntry)), skipped };
}

/** What a call is on the wire. The model may have called a tool that is not offered. */
export function toTarget(targets: CallTargets, turnToolName: string): CallTarget {
  return targets.get(turnToolName) ?? { name: turnToolName };
}

function toEntry(offered: OfferedFunction): [string, CallTarget] {
  const { namespace, name } = offered;
  return [turnName(offered), { ...(namespace && { namespace: namespace.name }), name }];
}

/** `tools[0].tools[1]` */
function toParam(path: readonly (string | number)[]): string {
  return path.reduce<string>(
    (param, key) => (typeof key === "number" ? `${param}[${key}]` : `${param}.${key}`),
    "tools",
  );
}

function unsupportedTool(kind: string, param: string): RequestError {
  return new RequestError(`${param}: ${JSON.stringify(kind)} tools are not supported`, { param });
}

function tooMany(most: number): RequestError {
  return new RequestError(
    `tools: has more than the ${most} entries allowed, those of namespaces counted.`,
    { param: "tools" },
  );
}
