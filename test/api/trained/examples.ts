/** For each profile, calls of the model and the client's calls that they become. */
import { CLAUDE_CODE, CLAUDE_GREP, CODEX, OPENCODE, type AgentTool } from "./agents.ts";

export interface Example {
  readonly trained: string;
  readonly body: string;
  readonly client: string;
  readonly sent: string;
  /**
   * `both`: the client's call becomes the model's again. `there`: another call of the model becomes the same, and it is put
   * back from what was sampled only.
   */
  readonly way: "both" | "there";
  readonly notes?: readonly string[];
}

export interface Agent {
  readonly profile: string;
  readonly tools: readonly AgentTool[];
  /** The client's tools by what the model is shown. */
  readonly mapped: Readonly<Record<string, string>>;
  readonly examples: readonly Example[];
}

type Row = readonly [
  trained: string,
  body: string,
  client: string,
  sent: string,
  way?: "there",
  ...notes: string[],
];

function toExamples(rows: readonly Row[]): Example[] {
  return rows.map(([trained, body, client, sent, way, ...notes]) => ({
    trained,
    body,
    client,
    sent,
    way: way ?? "both",
    ...(notes.length > 0 && { notes }),
  }));
}

const EXEC = "container.exec";
const OPEN = "repo_browser.open_file";
const SEARCH = "repo_browser.search";
const LIST = "repo_browser.list_dir";
const PATCH = "repo_browser.apply_patch";
const HUNK = '*** Begin Patch\n*** Update File: a\n@@\n-x "\\\n+y\n*** End Patch\n';

// Each row is one line, however long.
// oxfmt-ignore
export const AGENTS: readonly Agent[] = [
  {
    profile: "codex/1",
    tools: CODEX,
    mapped: { [EXEC]: "exec_command", [PATCH]: "apply_patch" },
    examples: toExamples([
      [EXEC, '{"command":["bash","-lc","ls -R"]}', "exec_command", '{"cmd":"ls -R"}'],
      [EXEC, '{"command":["bash","-lc","make"],"workdir":"/w"}', "exec_command", '{"cmd":"make","workdir":"/w"}'],
      [EXEC, '{"command":["bash","-lc","make"],"timeout":10000}', "exec_command", '{"cmd":"make","yield_time_ms":10000}'],
      [EXEC, '{"command":["bash","-lc","make"],"timeout":100000}', "exec_command", '{"cmd":"make","yield_time_ms":30000}', "there", "timeout: 30000 instead of 100000"],
      [EXEC, '{"cmd":["bash","-lc","ls"]}', "exec_command", '{"cmd":"ls"}', "there"],
      [EXEC, '{"cmd":"ls"}', "exec_command", '{"cmd":"ls"}', "there"],
      [EXEC, '{"command":["/bin/sh","-c","ls"]}', "exec_command", '{"cmd":"ls"}', "there"],
      [EXEC, '{"command":["grep","-n","it\'s $HOME","a b"]}', "exec_command", `{"cmd":"grep -n 'it'\\\\''s $HOME' 'a b'"}`, "there"],
      [EXEC, '{"command":["bash","-lc","a","b"]}', "exec_command", '{"cmd":"bash -lc a b"}', "there"],
      [EXEC, '{"command":["bash","-lc","ls"],"workdir":null}', "exec_command", '{"cmd":"ls"}', "there"],
      [PATCH, JSON.stringify({ patch: HUNK }), "apply_patch", HUNK],
      [PATCH, JSON.stringify({ patch: HUNK.trimEnd() }), "apply_patch", HUNK, "there"],
      [PATCH, HUNK, "apply_patch", HUNK, "there"],
    ]),
  },
  {
    profile: "claude-code/1",
    tools: CLAUDE_CODE,
    mapped: { [EXEC]: "Bash", [OPEN]: "Read" },
    examples: toExamples([
      [EXEC, '{"command":["bash","-lc","ls"]}', "Bash", '{"command":"ls"}'],
      [EXEC, '{"command":["bash","-lc","make"],"timeout":10000}', "Bash", '{"command":"make","timeout":10000}'],
      [EXEC, '{"command":["bash","-lc","make"],"timeout":900000}', "Bash", '{"command":"make","timeout":600000}', "there", "timeout: 600000 instead of 900000"],
      [OPEN, '{"path":"/a"}', "Read", '{"file_path":"/a"}'],
      [OPEN, '{"path":"/a","line_start":1980,"line_end":2020}', "Read", '{"file_path":"/a","offset":1980,"limit":41}'],
      [OPEN, '{"path":"/a","line_start":7}', "Read", '{"file_path":"/a","offset":7}'],
      [OPEN, '{"path":"/a","line_start":1,"line_end":1}', "Read", '{"file_path":"/a","offset":1,"limit":1}'],
      [OPEN, '{"path":"/a","line_end":7}', "Read", '{"file_path":"/a","limit":7}'],
      [OPEN, '{"path":"/a","line_start":3,"line_end":-1}', "Read", '{"file_path":"/a","offset":3}', "there"],
      [OPEN, '{"path":"/a","line_start":1,"line_end":9,"line_numbers":true}', "Read", '{"file_path":"/a","offset":1,"limit":9}', "there", "line_numbers: left out"],
      [OPEN, '{"file_path":"/a","start_line":2,"end_line":2}', "Read", '{"file_path":"/a","offset":2,"limit":1}', "there"],
    ]),
  },
  {
    profile: "claude-code/1",
    tools: [...CLAUDE_CODE, CLAUDE_GREP],
    mapped: { [EXEC]: "Bash", [OPEN]: "Read", [SEARCH]: "Grep" },
    examples: toExamples([
      [SEARCH, '{"path":"django","query":"order_by","max_results":20}', "Grep", '{"path":"django","pattern":"order_by","head_limit":20,"output_mode":"content","-n":true}'],
      [SEARCH, '{"path":"","query":"a.*b"}', "Grep", '{"pattern":"a.*b","output_mode":"content","-n":true}'],
    ]),
  },
  {
    profile: "opencode/1",
    tools: OPENCODE,
    mapped: { [EXEC]: "bash", [OPEN]: "read", [LIST]: "read", [SEARCH]: "grep" },
    examples: toExamples([
      [EXEC, '{"command":["bash","-lc","make"],"workdir":"/w","timeout":5}', "bash", '{"command":"make","workdir":"/w","timeout":5}'],
      [OPEN, '{"path":"a","line_start":2,"line_end":3}', "read", '{"filePath":"a","offset":2,"limit":2}'],
      [LIST, '{"path":"src"}', "read", '{"filePath":"src"}', "there"],
      [LIST, '{"path":"","depth":2}', "read", '{"filePath":"."}', "there", "depth: left out"],
      [SEARCH, '{"path":"django","query":"order_by"}', "grep", '{"path":"django","pattern":"order_by"}'],
      [SEARCH, '{"path":"","query":"x","max_results":20}', "grep", '{"pattern":"x"}', "there", "max_results: left out"],
      [SEARCH, '{"path":"","pattern":"x"}', "grep", '{"pattern":"x"}', "there"],
      [SEARCH, '{"path":"","query":"(?i)todo|(?P<who>by) me"}', "grep", '{"pattern":"(?i)todo|(?P<who>by) me"}'],
      [SEARCH, '{"path":"","query":"ManyToManyRel("}', "grep", '{"pattern":"ManyToManyRel\\\\("}', "there", "query: searched as text, because it is no regular expression"],
    ]),
  },
];
