/** Converts the text of flags and variables to values of settings. */
import type { SettingDescription } from "./describe.ts";

/** Converts text to the type of its setting. Invalid text is returned unchanged, and the schema reports it. */
export function fromText(setting: SettingDescription, text: string): unknown {
  switch (setting.kind) {
    case "boolean":
      return fromBooleanText(text);
    case "number":
      return text.trim() === "" ? text : toNumber(text);
    case "list":
      return fromListText(text);
    case "object":
      return fromJsonText(text);
    case "choice":
    case "text":
      return text;
    default:
      return setting.kind satisfies never;
  }
}

function toNumber(text: string): number | string {
  const number = Number(text.replaceAll("_", ""));
  return Number.isNaN(number) ? text : number;
}

function fromBooleanText(text: string): boolean | string {
  if (/^(true|1|yes|on)$/i.test(text)) return true;
  return /^(false|0|no|off)$/i.test(text) ? false : text;
}

/** Parses a JSON array or a comma-separated list. */
function fromListText(text: string): unknown {
  if (text.trim() === "") return [];
  if (!text.trimStart().startsWith("[")) return text.split(",").map((each) => each.trim());
  return fromJsonText(text);
}

function fromJsonText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
