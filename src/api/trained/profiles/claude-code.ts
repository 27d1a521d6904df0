/** Claude Code (2.1.330): a shell, files to read, and a search where it offers one. Its edits stay functions. */
import { constant, folder, lines, pattern, shell, text, timeout, whole } from "../fields.ts";
import type { Profile } from "../profile.ts";

export const claudeCode: Profile = {
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
