/** The outputs of `--help` and `--help all`, and the table in `docs/settings.md`, generated from the settings. */
import { SETTING_GROUPS } from "../../config/setting.ts";
import { describedSettings, type SettingDescription } from "../../config/describe.ts";
import { ENGINE_KINDS, ENGINES } from "../../engines/create-engine.ts";
import { COMMANDS } from "./commands.ts";
import { CONFIG_FLAG, CONFIG_VARIABLE } from "./settings.ts";

interface Section {
  readonly title: string;
  readonly settings: readonly SettingDescription[];
}

/** Sections of the help: common settings, settings of tools, all others. */
const COMMON = toSections((each) => each.common && each.group !== "tools");
const TOOLS = toSections((each) => each.group === "tools");
const ADVANCED = toSections((each) => !each.common && each.group !== "tools");

function toSections(isIn: (setting: SettingDescription) => boolean): readonly Section[] {
  return Object.entries(SETTING_GROUPS).flatMap(([group, title]) => {
    const settings = describedSettings().filter((each) => each.group === group && isIn(each));
    return settings.length === 0 ? [] : [{ title, settings }];
  });
}

function toCommandLines(isTool: boolean): string {
  return Object.entries(COMMANDS)
    .filter(([, command]) => (command.isTool ?? false) === isTool)
    .map(([name, { synopsis, purpose }]) => {
      return `  ${`harmony-gateway ${name} ${synopsis}`.padEnd(36)}  ${purpose}`;
    })
    .join("\n");
}

const INTRODUCTION = `\
harmony-gateway serves gpt-oss through the Chat Completions, Responses and Messages APIs, on top of
inference servers that only complete text, and keeps the model's reasoning intact.

Usage
${toCommandLines(false)}

Tools for developers
${toCommandLines(true)}

  harmony-gateway
  harmony-gateway --engine vllm --url http://127.0.0.1:8000 --model openai/gpt-oss-20b

Settings
  Each can be given as a flag, as an environment variable (--max-body-bytes is
  HARMONY_GATEWAY_MAX_BODY_BYTES) or in a JSON file ("maxBodyBytes"). A flag wins over a variable,
  a variable over the file. Do not give keys and passwords as flags: other users of the machine
  can see them.

  ${CONFIG_FLAG} <path>
      The JSON file. Also ${CONFIG_VARIABLE}.
  --help, --help all, --version
      Print the most common settings, this, or the version.
`;

const WIDTH = 96;

/** The entry of one setting, by its name or flag: `port`, `--max-body-bytes`. Undefined: there is no such setting. */
export function toSettingHelp(word: string): string | undefined {
  const setting = describedSettings().find(
    ({ name, flag, variable }) =>
      word === name || word === variable || `--${word}` === flag || word === flag,
  );
  if (setting === undefined) return undefined;
  return `${toHelpEntry(setting)}      Variable: ${setting.variable}; in the file: ${setting.name}`;
}

/** The short help, which fits a terminal of 24 lines and 80 columns. */
export const SHORT_HELP = `\
harmony-gateway serves gpt-oss through the Chat Completions, Responses and
Messages APIs, on top of inference servers that only complete text.

  harmony-gateway                              the demo engine, no model needed
  harmony-gateway --url http://127.0.0.1:8000  your vLLM, SGLang, llama.cpp, ...
  harmony-gateway --model gpt-oss.gguf         a GGUF file, in this process

  --url <url>        the inference server; --engine <kind> names its kind
  --model <name>     the model's name there, a .gguf file, or hf:user/repo/file
  --port <number>    8787          --host <address>    127.0.0.1
  --keys <list>      who may use it; harmony-gateway key makes one
  --store <where>    sqlite:state.db, or the URL of a database
  --config <file>    settings as JSON; SIGHUP reads them again
  --log <level>      silent, error, warn, info, debug; --log-format text, json

  connect <client>   settings for Codex, Claude Code, opencode, Continue, SDKs
  doctor, config     say what is wrong with an engine; print the settings
  key, store         make a client key; count or delete what a file keeps
  render, parse      tools: print a request's prompt, or an output's meaning
  convert, replay    convert conversations; run again what --capture recorded

  --help all lists every setting and engine; --version prints the version.`;

export function toFullHelp(): string {
  return [
    INTRODUCTION,
    ...[...COMMON, ...TOOLS].map(toText),
    toEngineList(),
    ...ADVANCED.map((section) => `Advanced: ${toText(section)}`),
  ].join("\n");
}

function toText({ title, settings }: Section): string {
  return `${title}\n${settings.map((each) => toHelpEntry(each)).join("")}`;
}

function toEngineList(): string {
  const entries = ENGINE_KINDS.map((kind) => {
    const { title, url } = ENGINES[kind];
    const where = typeof url === "object" ? ` [${url.default}]` : "";
    return `  ${kind}\n${wrap(`${title}.${where}`, "      ")}\n`;
  });
  return `Kinds of engines, each with its default --url\n${entries.join("")}`;
}

/** The table of all settings, in Markdown. */
export function toSettingsDocument(): string {
  return [
    DOCUMENT_HEAD,
    ...[...COMMON, ...TOOLS].map((section) => toMarkdown("##", section)),
    "## Advanced\n\nDefaults that few deployments change.\n",
    ...ADVANCED.map((section) => toMarkdown("###", section)),
  ].join("\n");
}

/** @param heading marker of its level, `##`. */
function toMarkdown(heading: string, section: Section): string {
  const rows = section.settings.map((each) => {
    const cells = [
      `\`${each.name}\``,
      `\`${each.flag}\``,
      toDefault(each)?.replace(/.+/, "`$&`") ?? "",
      `${each.description} ${toExpectation(each)}`.trim(),
    ];
    return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  });
  return `${heading} ${section.title}\n\n| name | flag | default | meaning |\n| --- | --- | --- | --- |\n${rows.join("\n")}\n`;
}

const DOCUMENT_HEAD = `# Settings

<!-- Generated by scripts/write-docs.ts from src/config/settings/: change it there. -->

Each setting can be given as a flag, as an environment variable or in a JSON file named by
\`${CONFIG_FLAG}\` or \`${CONFIG_VARIABLE}\`, under its name. A variable is the flag in capitals
with a prefix: \`--max-body-bytes\` is \`HARMONY_GATEWAY_MAX_BODY_BYTES\`. On Cloudflare Workers the
variables are bindings. A flag wins over a variable, a variable over the file, the file over the default.

In flags and variables, numbers may be grouped with underscores (\`8_192\`), and a list is written with
commas, or as a JSON array. The file has JSON's numbers and arrays.

The gateway does not start with an invalid value, an unknown flag or an unknown name in the file. The
message names the setting and its source.
`;

function toHelpEntry(setting: SettingDescription): string {
  const value = setting.kind === "boolean" ? toSwitch(setting) : ` <${placeholder(setting)}>`;
  const fallback = toDefault(setting);
  const note = fallback === undefined || setting.kind === "boolean" ? "" : ` [${fallback}]`;
  const text = setting.description + note;
  return `  ${setting.flag}${value}\n${wrap(text, "      ")}\n`;
}

/** For a switch that is on by default, the flag that turns it off. */
function toSwitch({ flag, defaultValue }: SettingDescription): string {
  return defaultValue === true ? `, on unless ${flag.replace("--", "--no-")}` : "";
}

function toExpectation({ choices }: SettingDescription): string {
  if (choices.length === 0) return "";
  return `One of ${choices.map((choice) => `\`${choice}\``).join(", ")}.`;
}

function placeholder({ kind, name, choices }: SettingDescription): string {
  switch (kind) {
    case "number":
      return /(Ms|Bytes|Seconds)$/.exec(name)?.[1]?.toLowerCase() ?? "number";
    case "list":
      return name === "backends" ? "JSON" : "a,b,…";
    case "choice":
      return choices.join("|");
    case "object":
      return "JSON";
    case "boolean":
    case "text":
      return kind;
    default:
      return kind satisfies never;
  }
}

function toDefault({ defaultValue }: SettingDescription): string | undefined {
  if (defaultValue === undefined) return undefined;
  const text = typeof defaultValue === "string" ? defaultValue : JSON.stringify(defaultValue);
  return text === "[]" || text === "{}" ? undefined : text;
}

function wrap(text: string, indent: string): string {
  const lines: string[] = [];
  let line = indent;
  for (const word of text.split(" ")) {
    if (line !== indent && line.length + 1 + word.length > WIDTH) {
      lines.push(line);
      line = indent;
    }
    line += line === indent ? word : ` ${word}`;
  }
  return [...lines, line].join("\n");
}
