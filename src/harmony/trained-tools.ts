/**
 * The tools that gpt-oss was trained with, `browser` and `python`: their verbatim definitions for the system message
 * (openai/harmony, `ToolNamespaceConfig`), and the messages of calls and results.
 */
import type { Message, ToolNamespace } from "./conversation.ts";
import { fromPlainJson } from "./json.ts";
import { toHeaderName } from "./messages.ts";

/** Names of the trained tools, used by settings and requests. */
export const TRAINED_TOOLS = ["browser", "python"] as const;

export type TrainedTool = (typeof TRAINED_TOOLS)[number];

/** The trained tool of a recipient: `browser` for `browser.open`. Undefined: the recipient is no trained tool's. */
export function trainedToolOf(recipient: string): TrainedTool | undefined {
  return TRAINED_TOOLS.find((name) => recipient === name || recipient.startsWith(`${name}.`));
}

const unset = { type: "number", default: -1 };

/**
 * @example
 * ```ts
 * import { BROWSER_NAMESPACE } from "harmony-gateway/harmony";
 *
 * BROWSER_NAMESPACE.functions.map(({ name }) => name); // => ["search", "open", "find"]
 * ```
 */
export const BROWSER_NAMESPACE: ToolNamespace = {
  key: "browser",
  name: "browser",
  description: [
    "Tool for browsing.",
    "The `cursor` appears in brackets before each browsing display: `[{cursor}]`.",
    "Cite information from the tool using the following format:",
    "`【{cursor}†L{line_start}(-L{line_end})?】`, for example: `【6†L9-L11】` or `【8†L3】`.",
    "Do not quote more than 10 words directly from the tool output.",
    "sources=web (default: web)",
  ].join("\n"),
  functions: [
    {
      name: "search",
      description: "Searches for information related to `query` and displays `topn` results.",
      parameters: fromPlainJson({
        type: "object",
        properties: {
          query: { type: "string" },
          topn: { type: "number", default: 10 },
          source: { type: "string" },
        },
        required: ["query"],
      }),
    },
    {
      name: "open",
      description: [
        "Opens the link `id` from the page indicated by `cursor` starting at line number `loc`, showing `num_lines` lines.",
        "Valid link ids are displayed with the formatting: `【{id}†.*】`.",
        "If `cursor` is not provided, the most recent page is implied.",
        "If `id` is a string, it is treated as a fully qualified URL associated with `source`.",
        "If `loc` is not provided, the viewport will be positioned at the beginning of the document or centered on the most relevant passage, if available.",
        "Use this function without `id` to scroll to a new location of an opened page.",
      ].join("\n"),
      parameters: fromPlainJson({
        type: "object",
        properties: {
          id: { type: ["number", "string"], default: -1 },
          cursor: unset,
          loc: unset,
          num_lines: unset,
          view_source: { type: "boolean", default: false },
          source: { type: "string" },
        },
      }),
    },
    {
      name: "find",
      description:
        "Finds exact matches of `pattern` in the current page, or the page given by `cursor`.",
      parameters: fromPlainJson({
        type: "object",
        properties: { pattern: { type: "string" }, cursor: unset },
        required: ["pattern"],
      }),
    },
  ],
};

/**
 * Descriptions of `python`: from the harmony library (`stateful`, the tool of training), and from gpt-oss's Docker tool (`stateless`).
 *
 * @example
 * ```ts
 * import { PYTHON_DESCRIPTIONS } from "harmony-gateway/harmony";
 *
 * Object.keys(PYTHON_DESCRIPTIONS); // => ["stateful", "stateless"]
 * ```
 */
export const PYTHON_DESCRIPTIONS = {
  stateful: `\
Use this tool to execute Python code in your chain of thought. The code will not be shown to the user. This tool should be used for internal reasoning, but not for code that is intended to be visible to the user (e.g. when creating plots, tables, or files).

When you send a message containing Python code to python, it will be executed in a stateful Jupyter notebook environment. python will respond with the output of the execution or time out after 120.0 seconds. The drive at '/mnt/data' can be used to save and persist user files. Internet access for this session is UNKNOWN. Depends on the cluster.`,
  stateless: `\
Use this tool to execute STATELESS Python code in your chain of thought. The code will not be shown to the user. This tool should be used for internal reasoning, but not for code that is intended to be visible to the user (e.g. when creating plots, tables, or files).
When you send a message containing python code to python, it will be executed in a stateless docker container, and the stdout of that process will be returned to you. You have to use print statements to access the output.

IMPORTANT: Your python environment is not shared between calls. You will have to pass your entire code each time.`,
} as const;

/**
 * Without functions: the model sends bare code to `python`.
 *
 * @example
 * ```ts
 * import { PYTHON_NAMESPACE, systemText } from "harmony-gateway/harmony";
 *
 * systemText({ type: "system", namespaces: [PYTHON_NAMESPACE] }, false).includes("## python"); // => true
 * ```
 */
export const PYTHON_NAMESPACE: ToolNamespace = {
  key: "python",
  name: "python",
  description: PYTHON_DESCRIPTIONS.stateful,
  functions: [],
};

/**
 * A call as the model writes it. `recipient`: `python` or `browser.search`; `body`: bare code, or JSON arguments.
 *
 * @example
 * ```ts
 * import { createRenderer, trainedCallMessage } from "harmony-gateway/harmony";
 *
 * createRenderer().renderMessage(trainedCallMessage("python", "1 + 1")).text(); // => "<|start|>assistant to=python<|channel|>analysis code<|message|>1 + 1<|call|>"
 * ```
 */
export function trainedCallMessage(recipient: string, body: string): Message {
  return {
    role: "assistant",
    recipient: toHeaderName(recipient),
    channel: "analysis",
    contentType: "code",
    content: body,
  };
}

/**
 * The result of a call to this recipient.
 *
 * @example
 * ```ts
 * import { createRenderer, trainedResultMessage } from "harmony-gateway/harmony";
 *
 * createRenderer().renderMessage(trainedResultMessage("python", "2")).text(); // => "<|start|>python to=assistant<|channel|>analysis<|message|>2<|end|>"
 * ```
 */
export function trainedResultMessage(recipient: string, output: string): Message {
  return {
    role: "tool",
    name: toHeaderName(recipient),
    recipient: "assistant",
    channel: "analysis",
    content: output,
  };
}
