/** Explains failures of a command to its user in one sentence: files that cannot be read, flags that do not exist. */
import { SettingsError } from "../../config/resolve.ts";
import { suggest } from "../../config/suggest.ts";
import { explainFile } from "../explain-file.ts";

/** A flag of a subcommand, in its usage. */
const FLAG = /^ {2}(--[\w-]+)/gm;

/** Undefined: the error is not the user's. `usage`: usage text of the command. */
export function explainFailure(error: unknown, usage: string): string | undefined {
  if (!(error instanceof Error)) return undefined;
  if (error instanceof SettingsError) return error.problems.join("\n");
  const code = "code" in error ? error.code : undefined;
  switch (code) {
    case "ERR_PARSE_ARGS_UNKNOWN_OPTION":
      return explainUnknownFlag(error.message, usage);
    case "ERR_PARSE_ARGS_INVALID_OPTION_VALUE":
      return explainFlagValue(error.message);
    default:
      return explainFile(error) ?? explainForm(error) ?? error.message;
  }
}

function explainUnknownFlag(message: string, usage: string): string {
  const flag = /'(-[^']*)'/.exec(message)?.[1] ?? "That";
  const known = Array.from(usage.matchAll(FLAG), ([, name = ""]) => name);
  return `${flag}: there is no such flag.${suggest(flag, known)}`;
}

function explainFlagValue(message: string): string {
  const flag = /(--[\w-]+)/.exec(message)?.[1] ?? "A flag";
  return message.includes("does not take")
    ? `${flag}: is a switch and takes no value.`
    : `${flag}: expected a value after it.`;
}

function explainForm(error: Error): string | undefined {
  return error.name === "ZodError"
    ? "The input is JSON, but not of the form that is expected."
    : undefined;
}
