/** Reads the tools of a request: the functions offered in the turn, and the wire formats of their calls. */
import type { TrainedTool } from "../../harmony/trained-tools.ts";
import type { Preset } from "../../turn/preset.ts";
import { toApplyPatchGrammar } from "../../engines/apply-patch-grammar.ts";
import type { Constraint } from "../../engines/engine.ts";
import { fromPlainJson, type Json } from "../../harmony/json.ts";
import { FUNCTIONS } from "../../harmony/messages.ts";
import type { Namespace } from "../../harmony/tool-names.ts";
import { refusal, type RequestError } from "../errors.ts";
import {
  type OfferedFunction,
  refuseDuplicates,
  toOfferedFunction,
  turnName,
} from "../request/offered-functions.ts";
import {
  type Declaration,
  type HostedDeps,
  type HostedTools,
  isHosted,
  readHostedTools,
  unsupportedTool,
} from "../tools/hosted-tools.ts";
import { withPresetTools } from "../tools/preset-tools.ts";
import { findToolSearch, type ToolSearchRequest, toToolSearch } from "../tools/tool-search.ts";
import { TOOL_SEARCH } from "../../tools/tool-search/deferred-functions.ts";
import { type ClientTrainedTools, CODE_TOOL } from "../tools/client-trained-tools.ts";
import { jsonAt } from "../request/ordered-json.ts";
import type { CustomTool, Tool } from "./tool-schemas.ts";

export interface RequestTools {
  readonly offered: readonly OfferedFunction[];
  /** The tools that are shown once a search has found them. */
  readonly deferred: ReadonlySet<OfferedFunction>;
  /** The tool search. Undefined: the gateway runs none. */
  readonly search: ToolSearchRequest | undefined;
  /** The tools that each later list adds. */
  readonly later: readonly (readonly OfferedFunction[])[];
  /** The wire format of each tool's calls, by the tool's name in the turn. */
  readonly targets: CallTargets;
  /** Tools that the gateway runs. */
  readonly hosted: HostedTools;
  /** Kinds of tools that were left out, with their namespace if any. */
  readonly skipped: readonly string[];
}

/** The tool of a call under the client's name. */
export interface CallTarget {
  readonly kind: "function" | "custom" | "tool-search";
  readonly namespace?: string;
  readonly name: string;
  /** Whether the body is code, which becomes the input unchanged. */
  readonly isCode?: boolean;
}

export type CallTargets = ReadonlyMap<string, CallTarget>;

export interface ToolsOptions {
  /** The tools with their key order kept. */
  readonly ordered: Json | undefined;
  /** Lists in the input, which add tools to those of the request. */
  readonly later: readonly ToolList[];
  /** Whether unsupported tools are answered with 400, instead of being left out. */
  readonly refuses: boolean;
  /** Maximum tools, including those of namespaces. */
  readonly maxTools: number;
  readonly hosted: HostedDeps;
  readonly preset: Preset | undefined;
  /** The model's trained tools that the client runs itself. */
  readonly byClient: readonly TrainedTool[];
}

export interface ToolList {
  readonly tools: readonly Tool[];
  readonly param: string;
}

/** Reads all tools. Throws a {@link RequestError} for two tools of one name, and for too many. */
export function readTools(
  tools: readonly Tool[],
  { ordered, later, refuses, maxTools, hosted, preset, byClient }: ToolsOptions,
): RequestTools {
  const offered: OfferedFunction[] = [];
  const targets = new Map<string, CallTarget>();
  const skipped: string[] = [];
  const declarations: Declaration[] = [];
  const deferred = new Set<OfferedFunction>();
  const search = findToolSearch(tools);
  // Without a search, deferred tools could not be found.
  const defers = search !== undefined || tools.some(({ type }) => type === "tool_search");

  function add(
    kind: CallTarget["kind"],
    each: OfferedFunction,
    { defer_loading: isDeferred }: { readonly defer_loading?: boolean | null | undefined } = {},
  ): void {
    const { namespace, name } = each;
    offered.push(each);
    if (defers && isDeferred) deferred.add(each);
    if (offered.length > maxTools) throw tooMany(maxTools);
    const key = turnName(each);
    if (targets.has(key)) return;
    targets.set(key, { kind, ...(namespace && { namespace: namespace.name }), name });
  }

  function read(tool: Tool, at: ToolPlace, namespace?: Namespace): void {
    switch (tool.type) {
      case "function": {
        const param = `${at.param}.parameters`;
        const schema = at.ordered
          ? jsonAt(ordered, [...at.ordered, "parameters"])
          : tool.parameters && fromPlainJson(tool.parameters);
        const each = toOfferedFunction(tool, schema ?? undefined, param, namespace);
        // Tools of a later list are shown at the list's place, so they are not deferred.
        return add("function", each, at.ordered ? tool : {});
      }
      case "custom":
        return add("custom", toTextFunction(tool, at.param, namespace), at.ordered ? tool : {});
      case "tool_search": {
        const schema = tool.parameters ? fromPlainJson(tool.parameters) : undefined;
        const definition = { ...tool, name: TOOL_SEARCH };
        return add("tool-search", toOfferedFunction(definition, schema, at.param));
      }
      case "namespace": {
        const { name, description } = tool;
        const inner =
          name === FUNCTIONS ? undefined : { name, ...(description && { description }) };
        for (const [index, each] of tool.tools.entries()) read(each, inside(at, index), inner);
        return undefined;
      }
      case "hosted":
        if (at.ordered && toToolSearch(tool.kind) !== undefined) return undefined;
        if (namespace === undefined && isHosted(tool.kind, hosted) && !isLaterServer(tool, at)) {
          declarations.push({ kind: tool.kind, fields: tool.fields, param: at.param });
          return undefined;
        }
        if (refuses) throw unsupportedTool(tool.kind, `${at.param}.type`);
        skipped.push(namespace === undefined ? tool.kind : `${namespace.name}.${tool.kind}`);
        return undefined;
      default:
        return tool satisfies never;
    }
  }

  for (const [index, tool] of tools.entries()) {
    read(tool, { param: `tools[${index}]`, ordered: [index] });
  }
  refuseDuplicates(offered);
  const added = later.map((list) => {
    const known = offered.splice(0);
    for (const [index, tool] of list.tools.entries()) {
      read(tool, { param: `${list.param}.tools[${index}]`, ordered: undefined });
    }
    const found = withoutKnown(offered, known);
    offered.splice(0, offered.length, ...known, ...found);
    if (offered.length > maxTools) throw tooMany(maxTools);
    return found;
  });
  const declared = withPresetTools(declarations, preset, byClient);
  const run = readHostedTools(declared, hosted);
  return { offered, deferred, search, later: added, targets, hosted: run, skipped };
}

/** Drops tools that are already offered, because the first definition applies. */
function withoutKnown(
  found: readonly OfferedFunction[],
  known: readonly OfferedFunction[],
): OfferedFunction[] {
  const names = new Set(known.map((each) => turnName(each)));
  const added: OfferedFunction[] = [];
  for (const each of found) {
    const name = turnName(each);
    if (names.has(name)) continue;
    names.add(name);
    added.push(each);
  }
  return added;
}

/** The wire format of a call. The model may have called a tool that is not offered. */
export function toTarget(targets: CallTargets, name: string): CallTarget {
  return targets.get(name) ?? { kind: "function", name };
}

/** The wire formats of trained tools: `browser.search` is a function in a namespace, `python` a custom tool. */
export function toClientTargets({ tools }: ClientTrainedTools): [string, CallTarget][] {
  return tools.map(({ name }) => {
    if (name === CODE_TOOL) return [name, { kind: "custom", name, isCode: true }];
    const [namespace = "", inner = ""] = name.split(".");
    return [name, { kind: "function", namespace, name: inner }];
  });
}

/** The position of a tool: its field, and its path in the ordered JSON. */
interface ToolPlace {
  readonly param: string;
  readonly ordered: readonly (string | number)[] | undefined;
}

/**
 * Whether an item of the history adds an MCP server. This is not supported, because servers are listed before the
 * history is read.
 */
function isLaterServer({ kind }: { readonly kind: string }, { ordered }: ToolPlace): boolean {
  return kind === "mcp" && ordered === undefined;
}

function inside({ param, ordered }: ToolPlace, index: number): ToolPlace {
  return {
    param: `${param}.tools[${index}]`,
    ordered: ordered && [...ordered, "tools", index],
  };
}

const PLAIN_TEXT = { type: "string" } as const;
const TEXT = fromPlainJson(PLAIN_TEXT);

/** Like OpenAI's reference for gpt-oss, offers a tool of one text as a function whose only argument is a string. */
function toTextFunction(
  { name, description, format }: CustomTool,
  param: string,
  namespace: Namespace | undefined,
): OfferedFunction {
  const { formats, note } = toFormats(format);
  const described = [description ?? "", note].filter((text) => text !== "").join("\n\n");
  const definition = { name, description: described, parameters: PLAIN_TEXT };
  return { ...toOfferedFunction(definition, TEXT, param, namespace), text: { formats } };
}

/** The constraint that an engine can enforce on the text, and its description for the model. */
function toFormats(format: CustomTool["format"]): {
  readonly formats: readonly Constraint[];
  readonly note: string;
} {
  if (format?.type !== "grammar") return { formats: [], note: "" };
  const { syntax, definition } = format;
  if (syntax === "regex") {
    return {
      formats: [{ type: "regex", pattern: definition }],
      note: `The input must match this regular expression: ${definition}`,
    };
  }
  const patch = toApplyPatchGrammar(definition);
  if (patch !== undefined) return { formats: [{ type: "grammar", grammar: patch }], note: PATCH };
  return {
    formats: [{ type: "lark", grammar: definition }],
    note: `The input must match this grammar in Lark's notation:\n${definition}`,
  };
}

/** Description of patches: the model was trained with this format, so its grammar is not shown. */
const PATCH =
  "The input is the patch itself: lines from *** Begin Patch to *** End Patch, with sections that begin with " +
  "*** Add File: PATH, *** Update File: PATH or *** Delete File: PATH. Added lines begin with +, removed lines with - " +
  "and unchanged lines with a space.";

function tooMany(most: number): RequestError {
  return refusal(
    "tools",
    `has more than the ${most} entries allowed, those of namespaces counted.`,
  );
}
