/** Parses the `# Response Formats` section. */
import type { ResponseFormat } from "./conversation.ts";
import { JsonSyntaxError, parseJson } from "./json.ts";

/** `text`: the section without its heading. Undefined: the text differs from the renderer's output. */
export function readResponseFormats(section: string): readonly ResponseFormat[] | undefined {
  const formats: ResponseFormat[] = [];
  for (const part of section.split(/\n\n(?=## )/)) {
    const [, name = "", body] = /^## ([^\n]*)\n\n(.*)$/s.exec(part) ?? [];
    const lines = body?.split("\n") ?? [];
    const schema = readJson(lines.pop());
    if (schema === undefined || lines.some((line) => !line.startsWith("// "))) return undefined;
    const description = lines.map((line) => line.slice(3)).join("\n");
    formats.push({ name, schema, ...(lines.length > 0 && { description }) });
  }
  return formats;
}

function readJson(text: string | undefined): ResponseFormat["schema"] | undefined {
  if (text === undefined) return undefined;
  try {
    return parseJson(text);
  } catch (error) {
    if (error instanceof JsonSyntaxError) return undefined;
    throw error;
  }
}
