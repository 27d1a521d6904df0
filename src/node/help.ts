/** What `--help` prints and the table in `docs/settings.md`, both made from the settings themselves. */
import { SETTING_GROUPS } from "../config/settings.ts";
import { describedSettings, type SettingDescription } from "../config/describe.ts";
import { ENGINE_KINDS, ENGINES } from "../engines/create-engine.ts";
import { CONFIG_FLAG, CONFIG_VARIABLE } from "./settings.ts";

const GROUPS = Object.entries(SETTING_GROUPS).map(([group, title]) => ({
  title,
  settings: describedSettings().filter((each) => each.group === group),
}));

const INTRODUCTION = `\
harmony-gateway serves gpt-oss through the Chat Completions, Responses and Messages APIs, on top of
inference servers that only continue text, and keeps the model's reasoning intact.

Usage
  harmony-gateway [settings]            serve
  harmony-gateway render [options]      print the prompt of a request
  harmony-gateway parse [options]       print what a model's output means
  harmony-gateway convert [options]     convert conversations: chat, Harmony, ids, OpenChatML
  harmony-gateway key [name]            make a client key and its hash; --sealing: a sealing key
  harmony-gateway claude [settings]     print the variables that point Claude Code at the gateway

  harmony-gateway
  harmony-gateway --engine vllm --url http://127.0.0.1:8000 --model openai/gpt-oss-20b

Settings
  Each can be given as a flag, as an environment variable (--max-body-bytes is
  HARMONY_GATEWAY_MAX_BODY_BYTES) or in a JSON file ("maxBodyBytes"). A flag wins over a variable,
  a variable over the file. Keys and passwords are better not given as flags: other users of the
  machine can see those.

  ${CONFIG_FLAG} <path>
      The JSON file. Also ${CONFIG_VARIABLE}.
  --help, --version
      Print this, or the version.
`;

const WIDTH = 96;

export function toHelp(): string {
  const groups = GROUPS.map(({ title, settings }) => {
    return `${title}\n${settings.map((each) => toHelpEntry(each)).join("")}`;
  });
  return [INTRODUCTION, ...groups, toEngineList()].join("\n");
}

function toEngineList(): string {
  const entries = ENGINE_KINDS.map((kind) => {
    const { title, url } = ENGINES[kind];
    const where = typeof url === "object" ? ` [${url.default}]` : "";
    return `  ${kind}\n${wrap(`${title}.${where}`, "      ")}\n`;
  });
  return `Kinds of engines, and where each is looked for without --url\n${entries.join("")}`;
}

/** The table of all settings, in Markdown. */
export function toSettingsDocument(): string {
  const groups = GROUPS.map(({ title, settings }) => {
    const rows = settings.map((each) => {
      const cells = [
        `\`${each.name}\``,
        `\`${each.flag}\``,
        toDefault(each)?.replace(/.+/, "`$&`") ?? "",
        `${each.description} ${toExpectation(each)}`.trim(),
      ];
      return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
    });
    return `## ${title}\n\n| name | flag | default | meaning |\n| --- | --- | --- | --- |\n${rows.join("\n")}\n`;
  });
  return [DOCUMENT_HEAD, ...groups].join("\n");
}

const DOCUMENT_HEAD = `# Settings

<!-- Made by scripts/write-settings-doc.ts from src/config/settings.ts: change it there. -->

Each setting can be given as a flag, as an environment variable or in a JSON file named by
\`${CONFIG_FLAG}\` or \`${CONFIG_VARIABLE}\`, where it goes by its name. A variable is the flag in capitals
with a prefix: \`--max-body-bytes\` is \`HARMONY_GATEWAY_MAX_BODY_BYTES\`. On Cloudflare Workers the
variables are bindings. A flag wins over a variable, a variable over the file, the file over the default.

Numbers may be grouped with underscores (\`8_192\`). A list is written with commas, or as a JSON array.
A wrong value, an unknown flag and an unknown name in the file keep the gateway from starting; the
message says which it is and where it came from.
`;

function toHelpEntry(setting: SettingDescription): string {
  const value = setting.kind === "boolean" ? toSwitch(setting) : ` <${placeholder(setting)}>`;
  const fallback = toDefault(setting);
  const note = fallback === undefined || setting.kind === "boolean" ? "" : ` [${fallback}]`;
  const text = setting.description + note;
  return `  ${setting.flag}${value}\n${wrap(text, "      ")}\n`;
}

/** What is off until the flag is given needs no word; what is on, the flag that turns it off. */
function toSwitch({ flag, defaultValue }: SettingDescription): string {
  return defaultValue === true ? `, on unless ${flag.replace("--", "--no-")}` : "";
}

/** The values to choose from. */
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
    case "boolean":
    case "text":
      return kind;
    default:
      return kind satisfies never;
  }
}

function toDefault({ defaultValue }: SettingDescription): string | undefined {
  const isEmpty = Array.isArray(defaultValue) && defaultValue.length === 0;
  if (defaultValue === undefined || isEmpty) return undefined;
  return typeof defaultValue === "string" ? defaultValue : JSON.stringify(defaultValue);
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
