/** The settings of the group `log`: content and form of the log. */
import * as z from "zod";
import { setting } from "../setting.ts";

export function logSettings() {
  return {
    log: setting("log", () => z.enum(["silent", "error", "warn", "info", "debug"]), {
      fixed: true,
      common: true,
      default: "info",
      description:
        "Least severe level that is logged, on stdout; at `info`, one line per request when its response has ended, at `debug`, the settings too.",
    }),
    logFormat: setting("log", () => z.enum(["auto", "text", "json"]), {
      fixed: true,
      common: true,
      default: "auto",
      description:
        "`text`: lines for people. `json`: a JSON object per line. auto: text on a terminal, JSON anywhere else, and " +
        "always JSON on Workers.",
    }),
    auditFile: setting("log", () => z.string().min(1), {
      ofServer: true,
      fixed: true,
      common: true,
      description:
        "File to which a JSON line is appended for each request: key, client, model, outcome, tokens and times, " +
        "and no content. Requests never wait for it: lines that cannot be written are dropped and counted. On Node only.",
    }),
    logContent: setting("log", z.boolean, {
      default: false,
      description: "Log prompts, reasoning and answers too. For debugging only.",
    }),
  };
}
