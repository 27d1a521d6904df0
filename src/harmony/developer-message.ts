/** Writes the body of a developer message: instructions, functions, response formats. */

import type { DeveloperContent, ResponseFormat } from "./conversation.ts";
import { toCompactJson } from "./json.ts";
import { commentLines, toolsSection } from "./tools.ts";

/**
 * Joins the sections with a blank line. Empty instructions are a value: the heading is written. With nothing
 * set the body is empty, and such a message is better omitted.
 *
 * @example
 * ```ts
 * import { developerText } from "harmony-gateway/harmony";
 *
 * developerText({ type: "developer", instructions: "Be brief." }); // => "# Instructions\n\nBe brief."
 * ```
 */
export function developerText(content: DeveloperContent): string {
  const { instructions, namespaces = [], responseFormats = [] } = content;
  const sections = [
    instructions === undefined ? undefined : `# Instructions\n\n${instructions}`,
    namespaces.length === 0 ? undefined : toolsSection(namespaces),
    responseFormats.length === 0 ? undefined : formatsSection(responseFormats),
  ];
  return sections.filter((section) => section !== undefined).join("\n\n");
}

/** The reference library has no such section. The format is that of OpenAI's Harmony guide. */
function formatsSection(formats: readonly ResponseFormat[]): string {
  return ["# Response Formats", ...formats.map(formatSection)].join("\n\n");
}

function formatSection({ name, description = "", schema }: ResponseFormat): string {
  return [`## ${name}\n`, ...commentLines(description), toCompactJson(schema)].join("\n");
}
