/** The settings of a client as text that can be pasted. */
import { quoteShell } from "../../../snippets/literals.ts";
import type { ClientSettings } from "./client-settings.ts";

export function toText({ variables, files, keyVariable, text, start }: ClientSettings): string {
  return [
    ...(variables === undefined ? [] : [toExports(variables)]),
    ...(variables === undefined ? (files ?? []) : []).map(
      (file) => `# ~/${file.path}\n${file.text}`,
    ),
    ...(keyVariable === undefined ? [] : [toExports(keyVariable)]),
    ...(text === undefined ? [] : [text]),
    ...(start === undefined ? [] : ["# To start it with these settings: add -- to this command"]),
  ].join("\n\n");
}

/** Lines for a shell. */
export function toExports(variables: Readonly<Record<string, string>>): string {
  return Object.entries(variables)
    .map(([name, value]) => `export ${name}=${quote(value)}`)
    .join("\n");
}

function quote(value: string): string {
  return /^[\w.:/@-]+$/.test(value) ? value : quoteShell(value);
}
