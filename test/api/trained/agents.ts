/** The tools of coding agents, as far as the mapping reads them, in the form of the gateway's functions. */
import { fromPlainJson } from "../../../src/harmony/index.ts";

export interface AgentTool {
  readonly name: string;
  readonly description: string;
  /** Absent: a custom tool, which takes a text. */
  readonly parameters?: object;
}

const string = { type: "string" };
const number = { type: "number" };
const boolean = { type: "boolean" };

function object(properties: object, required: readonly string[]): object {
  return { type: "object", properties, required, additionalProperties: false };
}

export const CODEX: readonly AgentTool[] = [
  {
    name: "exec_command",
    description:
      "Runs a command in a PTY, returning output or a session ID for ongoing interaction.",
    parameters: object(
      {
        cmd: string,
        workdir: string,
        shell: string,
        login: boolean,
        tty: boolean,
        yield_time_ms: number,
        max_output_tokens: number,
        sandbox_permissions: string,
        justification: string,
        prefix_rule: { type: "array", items: string },
      },
      ["cmd"],
    ),
  },
  {
    name: "write_stdin",
    description: "Writes characters to an existing session and returns recent output.",
    parameters: object(
      { session_id: number, chars: string, yield_time_ms: number, max_output_tokens: number },
      ["session_id"],
    ),
  },
  { name: "apply_patch", description: "Use the `apply_patch` tool to edit files." },
  {
    name: "view_image",
    description: "View a local image.",
    parameters: object({ path: string }, ["path"]),
  },
];

export const CLAUDE_CODE: readonly AgentTool[] = [
  {
    name: "Bash",
    description: "Executes a given bash command and returns its output.",
    parameters: object(
      {
        command: string,
        timeout: { ...number, maximum: 600_000 },
        description: string,
        run_in_background: boolean,
        dangerouslyDisableSandbox: boolean,
      },
      ["command"],
    ),
  },
  {
    name: "Read",
    description: "Reads a file from the local filesystem.",
    parameters: object(
      {
        file_path: string,
        offset: { type: "integer", minimum: 0 },
        limit: { type: "integer", exclusiveMinimum: 0 },
        pages: string,
      },
      ["file_path"],
    ),
  },
  {
    name: "Edit",
    description: "Performs exact string replacements in files.",
    parameters: object(
      { file_path: string, old_string: string, new_string: string, replace_all: boolean },
      ["file_path", "old_string", "new_string"],
    ),
  },
  {
    name: "Write",
    description: "Writes a file to the local filesystem.",
    parameters: object({ file_path: string, content: string }, ["file_path", "content"]),
  },
];

/** Which it has not offered when it was observed. */
export const CLAUDE_GREP: AgentTool = {
  name: "Grep",
  description: "A powerful search tool built on ripgrep.",
  parameters: object(
    {
      pattern: string,
      path: string,
      glob: string,
      output_mode: { ...string, enum: ["content", "files_with_matches", "count"] },
      "-n": boolean,
      head_limit: number,
    },
    ["pattern"],
  ),
};

export const OPENCODE: readonly AgentTool[] = [
  {
    name: "bash",
    description: "Executes a given bash command in a shell session.",
    parameters: object(
      { command: string, timeout: { type: "integer", exclusiveMinimum: 0 }, workdir: string },
      ["command"],
    ),
  },
  {
    name: "read",
    description: "Read a file or directory from the local filesystem.",
    parameters: object(
      { filePath: string, offset: { type: "integer" }, limit: { type: "integer" } },
      ["filePath"],
    ),
  },
  {
    name: "grep",
    description: "Fast content search tool.",
    parameters: object({ pattern: string, path: string, include: string }, ["pattern"]),
  },
  {
    name: "glob",
    description: "Fast file pattern matching tool.",
    parameters: object({ pattern: string, path: string }, ["pattern"]),
  },
  {
    name: "edit",
    description: "Performs exact string replacements in files.",
    parameters: object(
      { filePath: string, oldString: string, newString: string, replaceAll: boolean },
      ["filePath", "oldString", "newString"],
    ),
  },
];

export function toFunctions(tools: readonly AgentTool[]) {
  return tools.map(({ name, description, parameters }) => ({
    name,
    description,
    strict: false,
    param: `tools.${name}`,
    plainParameters: parameters ?? string,
    parameters: fromPlainJson(parameters ?? string),
    ...(parameters === undefined && { text: { formats: [] } }),
  }));
}
