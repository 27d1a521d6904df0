/** Claude Code: variables, which its settings file can hold too. */
import { toClaudeCodeVariables } from "../../../../snippets/settings/claude-code.ts";
import { type ConnectedClient, toJson } from "../client-settings.ts";
import { setJsonValues } from "../edit/json-text.ts";

export const claudeCode: ConnectedClient = {
  title: "Claude Code",
  settings: (target) => {
    const variables = toClaudeCodeVariables(target);
    return {
      variables,
      files: [
        {
          path: ".claude/settings.json",
          text: toJson({ env: variables }),
          merge: (existing) =>
            setJsonValues(
              existing,
              Object.entries(variables).map(([name, value]) => ({ path: ["env", name], value })),
            ),
        },
      ],
      start: { command: ["claude"], variables },
    };
  },
};
