/** Profiles of the agents whose tools are shown as trained tools. */
import type { Profile } from "./profile.ts";
import {
  constant,
  folder,
  lines,
  optionalText,
  patch,
  pattern,
  shell,
  text,
  timeout,
  whole,
  words,
} from "./fields.ts";

/**
 * Claude Code (2.1.330): a shell, reading of files, and a search if it offers one. Its editing tools stay functions.
 */
const claudeCode: Profile = {
  name: "claude-code",
  version: 1,
  tools: [
    {
      trained: "container.exec",
      name: "Bash",
      target: "exec",
      fields: [shell("command"), timeout("timeout", { max: 600_000 })],
    },
    {
      trained: "repo_browser.open_file",
      name: "Read",
      target: "read",
      fields: [text("path", "file_path"), lines("offset", "limit")],
      note: "Each line begins with its number and a tab, which are no part of the file.",
    },
    {
      trained: "repo_browser.search",
      name: "Grep",
      target: "read",
      fields: [
        folder("path"),
        pattern("pattern"),
        whole("max_results", "head_limit", { min: 1 }),
        constant("output_mode", "content"),
        constant("-n", true),
      ],
    },
  ],
};

const workdir = optionalText("workdir", "workdir");

/**
 * OpenAI Codex (0.169.0): a shell, in its three historical forms, and patches. Codex has no tool for reading or
 * searching.
 */
const codex: Profile = {
  name: "codex",
  version: 1,
  tools: [
    {
      trained: "container.exec",
      name: "exec_command",
      target: "exec",
      // This time does not end the command: when it is over, the model gets a session, and continues with
      // `write_stdin`.
      fields: [
        shell("cmd"),
        workdir,
        timeout("yield_time_ms", { min: 250, max: 30_000, isHidden: true }),
      ],
    },
    {
      trained: "container.exec",
      name: "shell",
      target: "exec",
      fields: [words("command"), workdir, timeout("timeout_ms")],
    },
    {
      trained: "container.exec",
      name: "shell_command",
      target: "exec",
      fields: [shell("command"), workdir, timeout("timeout_ms")],
    },
    {
      trained: "repo_browser.apply_patch",
      name: "apply_patch",
      target: "edit",
      isText: true,
      fields: [patch("input")],
      note: "Paths are relative to the working directory.",
    },
  ],
};

/** opencode (1.18.33): a shell, reading of files and folders, and a search. Its editing tools stay functions. */
const opencode: Profile = {
  name: "opencode",
  version: 1,
  tools: [
    {
      trained: "container.exec",
      name: "bash",
      target: "exec",
      fields: [
        shell("command"),
        optionalText("workdir", "workdir"),
        timeout("timeout", { min: 1 }),
      ],
      note: "The output does not say whether the command failed: where it matters, have it print `$?`.",
    },
    {
      trained: "repo_browser.open_file",
      name: "read",
      target: "read",
      fields: [text("path", "filePath"), lines("offset", "limit")],
      note: "Each line begins with its number and a colon, which are no part of the file.",
    },
    {
      trained: "repo_browser.list_dir",
      name: "read",
      target: "read",
      fields: [folder("filePath", ".")],
    },
    {
      trained: "repo_browser.search",
      name: "grep",
      target: "read",
      fields: [folder("path"), pattern("pattern")],
    },
  ],
};

/** All profiles. A new agent needs a profile here, and examples in `test/api/trained/examples.ts`. */
export const PROFILES: readonly Profile[] = [codex, claudeCode, opencode];
