/** The `browser` namespace, with the exact words of training (openai/harmony, `ToolNamespaceConfig::browser`). */
import type { ToolNamespace } from "../../harmony/conversation.ts";
import { fromPlainJson } from "../../harmony/json.ts";

const unset = { type: "number", default: -1 };

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
