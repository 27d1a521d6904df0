/** The settings of the group `tools`: tools that the gateway runs. */
import * as z from "zod";
import { TRAINED_TOOLS } from "../../harmony/trained-tools.ts";
import { mcpServers } from "../mcp-servers.ts";
import { count, milliseconds, setting, url } from "../setting.ts";

export function toolSettings() {
  return {
    builtinTools: setting("tools", () => z.array(z.enum(TRAINED_TOOLS)), {
      fixed: true,
      default: [],
      description:
        "Tools the gateway runs for the model when a request asks for web search or a code interpreter: `browser`, " +
        "which searches by `browserSearch`, and `python`. See docs/tools.md.",
    }),
    trainedTools: setting("tools", () => z.enum(["off", "direct"]), {
      perKey: true,
      default: "off",
      description:
        "Show the model tools of its training (`container.exec`, `repo_browser.…`) in place of those tools of a coding agent that " +
        "do the same, and convert its calls (`direct`). A preset can differ. See docs/agents.md.",
    }),
    ...browserSettings(),
    ...pythonSettings(),
    ...mcpSettings(),
    citations: setting("tools", () => z.enum(["link", "annotate", "raw"]), {
      default: "link",
      description:
        "How citations appear in answers: as Markdown links with annotations, as annotations alone, or as the model " +
        "writes them (`【1†L3】`).",
    }),
    maxBuiltinCalls: setting("tools", count, {
      default: 30,
      description:
        "Maximum calls to tools the gateway runs in one response. A request may ask for fewer.",
    }),
    maxBuiltinCallsPerKey: setting("tools", count, {
      perKey: true,
      description:
        "Maximum calls of browser and python by one key in an hour, in each process of the gateway. Further calls " +
        "fail, and their results tell the model to answer. Absent: no limit.",
    }),
    builtinTimeoutMs: setting("tools", milliseconds, {
      default: 600_000,
      description: "Maximum time of all calls to tools the gateway runs in one response together.",
    }),
  };
}

function browserSettings() {
  return {
    browserSearch: setting(
      "tools",
      () => z.enum(["searxng", "exa", "brave", "tavily", "you", "local"]),
      {
        fixed: true,
        default: "local",
        description:
          "Search service of the browser tool: SearXNG by `browserSearchUrl`, another one by `browserSearchKey`, or " +
          "`local`, which searches text files and uses no network.",
      },
    ),
    browserSearchUrl: setting("tools", url, {
      fixed: true,
      description:
        "Address of the search service. Required for SearXNG; the others have one. Requests to it are not restricted " +
        "to public addresses.",
    }),
    browserSearchKey: setting("tools", () => z.string().min(1), {
      fixed: true,
      description: "API key of the search service. SearXNG needs none.",
      secret: true,
    }),
    browserSearchFolder: setting("tools", () => z.string().min(1), {
      fixed: true,
      nodeOnly: true,
      description:
        "Folder of Markdown, HTML and text files that `browserSearch` `local` searches. Absent: a few sample documents.",
    }),
    browserAllow: setting("tools", () => z.array(z.string().min(1)), {
      fixed: true,
      default: [],
      description:
        "Domains whose pages the browser tool may open and list, with their subdomains. Empty: all. A page can ask the " +
        "model to put the conversation into an address; this limits where such an address can lead.",
    }),
    browserDeny: setting("tools", () => z.array(z.string().min(1)), {
      fixed: true,
      default: [],
      description:
        "Domains whose pages the browser tool may not open, whatever `browserAllow` says.",
    }),
  };
}

function pythonSettings() {
  return {
    pythonRuntime: setting("tools", () => z.enum(["deno", "http", "mcp", "unsafe-node"]), {
      fixed: true,
      default: "deno",
      description:
        "Runtime of the python tool's code: Pyodide in Deno, which isolates it (`denoPath`, `pyodideFolder`), a sandbox " +
        "elsewhere (`pythonUrl`; `mcp`: an MCP server with a tool for code), or Pyodide in Node, where code can do whatever the gateway can. On Workers, " +
        "`http` only.",
    }),
    pythonUrl: setting("tools", url, {
      fixed: true,
      description: "Address of the sandbox of `pythonRuntime` `http` or `mcp`. See docs/tools.md.",
    }),
    pythonKey: setting("tools", () => z.string().min(1), {
      fixed: true,
      description: "API key the gateway sends to the sandbox.",
      secret: true,
    }),
    denoPath: setting("tools", () => z.string().min(1), {
      fixed: true,
      nodeOnly: true,
      description: "Path of Deno. Absent: the npm package `deno`, or the one in the path.",
    }),
    pyodideFolder: setting("tools", () => z.string().min(1), {
      fixed: true,
      nodeOnly: true,
      description: "Folder of Pyodide. Absent: the npm package `pyodide`.",
    }),
    pythonPackages: setting("tools", () => z.string().min(1), {
      fixed: true,
      nodeOnly: true,
      description:
        "Folder of wheels: packages that code may import in addition to the standard library. The model reads their names.",
    }),
    pythonCache: setting("tools", () => z.string().min(1), {
      fixed: true,
      nodeOnly: true,
      description:
        "Folder for the snapshot that interpreters start from, 31 MB. Absent: `harmony-gateway` in the user's cache folder.",
    }),
    pythonTimeoutMs: setting("tools", milliseconds, {
      fixed: true,
      default: 60_000,
      description: "Maximum time of one call of python. After it, the interpreter is killed.",
    }),
    pythonMemory: setting("tools", () => z.int().min(134_217_728), {
      fixed: true,
      nodeOnly: true,
      default: 536_870_912,
      description:
        "Maximum bytes of Python's memory in one interpreter. Its process uses about 150 MB more.",
    }),
    pythonIdleMs: setting("tools", milliseconds, {
      fixed: true,
      default: 300_000,
      description:
        "How long an interpreter waits for the next turn of its conversation. Then its variables and files are gone.",
    }),
    maxInterpreters: setting("tools", count, {
      fixed: true,
      nodeOnly: true,
      default: 4,
      description:
        "Maximum number of interpreters. Further calls wait for up to 30 seconds; then their results say that none is free.",
    }),
    maxInterpretersPerKey: setting("tools", count, {
      fixed: true,
      nodeOnly: true,
      default: 2,
      description: "Maximum interpreters of one key.",
    }),
  };
}

function mcpSettings() {
  return {
    mcpServers: setting("tools", mcpServers, {
      nodeOnly: true,
      default: {},
      description:
        "MCP servers whose tools requests may use, by label: an address with `headers`, or a program with `args` and `env`; " +
        "`allowedTools`, `requireApproval`, `description`, `timeoutMs`. A JSON object. See docs/tools.md.",
      secret: true,
      expected: "an object of MCP servers by label",
    }),
    mcpFromRequests: setting("tools", () => z.array(z.string().min(1)), {
      nodeOnly: true,
      default: [],
      description:
        "Hosts of MCP servers that requests may name themselves, with their subdomains; `any` is every public host. Empty: " +
        "requests may only use `mcpServers`.",
    }),
    mcpTimeoutMs: setting("tools", milliseconds, {
      nodeOnly: true,
      default: 30_000,
      description: "Maximum time of one call to an MCP server, or of listing its tools.",
    }),
  };
}
