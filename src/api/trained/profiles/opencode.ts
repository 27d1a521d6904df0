/** opencode (1.18.33): a shell, files and folders to read, and a search. Its edits stay functions. */
import { folder, lines, optionalText, pattern, shell, text, timeout } from "../fields.ts";
import type { Profile } from "../profile.ts";

export const opencode: Profile = {
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
