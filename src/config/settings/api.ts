/** The settings of the group `api`: the treatment of features that gpt-oss does not support. */
import * as z from "zod";
import { setting } from "../setting.ts";

const claudeAlias = () =>
  z.string().regex(/^(?:[^=*]+\*?=)?[^=*]+$/, "expected a served model, after `pattern=` or alone");

export function apiSettings() {
  return {
    unsupportedTools: setting("api", () => z.enum(["skip", "refuse"]), {
      default: "skip",
      description:
        "Tools and input items of the Responses API, and server tools of the Messages API, that gpt-oss does not " +
        "support, such as web_search: leave them out, or answer 400.",
    }),
    toolNamespaces: setting("api", () => z.enum(["own", "flat"]), {
      default: "own",
      description:
        "How the model is shown tools with a namespace, such as those of MCP servers: each namespace as one of its own, " +
        "or all of them as functions named `namespace__tool`. Calls are read in either spelling.",
    }),
    claudeAliases: setting("api", () => z.array(claudeAlias()), {
      common: true,
      default: [],
      description:
        "Which models the Messages API uses for names it does not serve, for programs that ask for Claude: " +
        "`claude-haiku-*=openai/gpt-oss-20b`, or a model alone for every `claude-*`. The first match applies. " +
        "Such programs assume the context length of the model they asked for.",
    }),
  };
}
