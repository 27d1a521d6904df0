/**
 * The coding tools that gpt-oss calls even if the prompt defines none: `container` and `repo_browser`.
 *
 * OpenAI has not published their definitions. These definitions are a verbatim copy of the reconstruction with which
 * gpt-oss-20b was measured in "In harmony with gpt-oss" (arXiv 2604.00362, borislavmavrin/harmonyagent): a test
 * compares them with a prompt of that run.
 */
import type { ToolFunction, ToolNamespace } from "./conversation.ts";
import { fromPlainJson, type Json } from "./json.ts";

type Parameter = Readonly<Record<string, unknown>>;

export interface CodingTool {
  readonly namespace: "container" | "repo_browser";
  readonly name: string;
  readonly description: string;
  readonly parameters: Readonly<Record<string, Parameter>>;
  readonly required: readonly string[];
}

const text = (description: string) => ({ type: "string", description });
const number = (description: string) => ({ type: "number", description });

/** Definitions by recipient, in the order of the prompt. */
export const CODING_TOOLS = {
  "container.exec": {
    namespace: "container",
    name: "exec",
    description: [
      "Runs a shell command and returns its output.",
      '- The arguments to `shell` will be passed to execvp(). Most terminal commands should be prefixed with ["bash", "-lc"].',
      "- Always set the `workdir` param when using the shell function. Do not use `cd` unless absolutely necessary.",
    ].join("\n"),
    parameters: {
      command: { type: "array", items: { type: "string" }, description: "The command to execute" },
    },
    required: ["command"],
  },
  "repo_browser.print_tree": {
    namespace: "repo_browser",
    name: "print_tree",
    description: "Prints a tree view of the repository file structure.",
    parameters: {
      path: text("Root path to start the tree from. Use empty string for repo root."),
      depth: number("Maximum directory depth to display."),
    },
    required: ["path", "depth"],
  },
  "repo_browser.search": {
    namespace: "repo_browser",
    name: "search",
    description:
      "Searches repository file contents for a query string and returns matching file paths.",
    parameters: {
      path: text("Directory to search in. Use empty string for repo root."),
      query: text("Search query or pattern to look for."),
      max_results: number("Maximum number of results to return."),
    },
    required: ["path", "query"],
  },
  "repo_browser.open_file": {
    namespace: "repo_browser",
    name: "open_file",
    description: "Opens a file and returns its contents between the specified line range.",
    parameters: {
      path: text(
        "Path to the file to open. Full absolute path or relative to the current working directory.",
      ),
      line_start: number("First line number to display (1-indexed)."),
      line_end: number("Last line number to display (1-indexed)."),
      line_numbers: {
        type: "boolean",
        description: "If true, prefix each output line with its line number in the file.",
      },
    },
    required: ["path"],
  },
  "repo_browser.list_dir": {
    namespace: "repo_browser",
    name: "list_dir",
    description: "Lists entries in a directory with optional depth control.",
    parameters: {
      path: text("Directory path to list. Use empty string for repo root."),
      depth: number("Maximum directory depth to traverse."),
    },
    required: ["path"],
  },
  "repo_browser.apply_patch": {
    namespace: "repo_browser",
    name: "apply_patch",
    description: "Patch a file",
    parameters: {
      patch: {
        ...text("Formatted patch code"),
        default: "*** Begin Patch\n*** End Patch\n",
      },
    },
    required: [],
  },
} as const satisfies Record<string, CodingTool>;

/** The recipient of a tool's calls. */
export type CodingToolName = keyof typeof CODING_TOOLS;

const NAMESPACES = {
  container: "Container tools.",
  repo_browser: "Repository browsing tools for exploring code structure.",
} as const;

/** The namespaces of these tools, for the system message. Tools keep the order of {@link CODING_TOOLS}. */
export function toCodingNamespaces(tools: readonly CodingTool[]): ToolNamespace[] {
  const byNamespace = Map.groupBy(tools, ({ namespace }) => namespace);
  return Array.from(byNamespace, ([name, all]) => ({
    key: name,
    name,
    description: NAMESPACES[name],
    functions: all.map((tool) => toCodingFunction(tool)),
  }));
}

export function toCodingFunction(tool: CodingTool): ToolFunction & { readonly parameters: Json } {
  const { name, description, parameters, required } = tool;
  const schema = fromPlainJson({ type: "object", properties: parameters, required });
  return { name, description, parameters: schema };
}
