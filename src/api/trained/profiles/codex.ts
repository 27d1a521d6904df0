/** OpenAI Codex (0.169.0): a shell, in the three forms that it has had, and patches. It has no tool to read or to search. */
import { optionalText, patch, shell, timeout, words } from "../fields.ts";
import type { Profile } from "../profile.ts";

const workdir = optionalText("workdir", "workdir");

export const codex: Profile = {
  name: "codex",
  version: 1,
  tools: [
    {
      trained: "container.exec",
      name: "exec_command",
      target: "exec",
      // It ends no command: after this time the model gets a session, and goes on with `write_stdin`.
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
