/**
 * Parses the text of system and developer messages to parts.
 *
 * Text is read as a part only if the renderer writes the part as exactly this text. A conversation is therefore
 * rendered to the same ids whether its parts are read back or not.
 */
import { offersFunctions } from "./body.ts";
import type { DeveloperContent, Message, ReasoningEffort, SystemContent } from "./conversation.ts";
import { developerText } from "./developer-message.ts";
import { readResponseFormats } from "./read-formats.ts";
import { readToolsSection } from "./read-tools.ts";
import { systemText } from "./system-message.ts";

/**
 * Returns the messages, with parts where their text is canonical.
 *
 * @example
 * ```ts
 * import { readParts } from "harmony-gateway/harmony";
 *
 * const [message] = readParts([{ role: "developer", content: "# Instructions\n\nBe brief." }]);
 * message?.content; // => [{ type: "developer", instructions: "Be brief." }]
 * ```
 */
export function readParts(messages: readonly Message[]): readonly Message[] {
  const developed = messages.map((message) => {
    if (message.role !== "developer" || typeof message.content !== "string") return message;
    const part = readDeveloperText(message.content);
    return part === undefined ? message : { ...message, content: [part] };
  });
  const hasFunctions = offersFunctions(developed);
  const read = developed.map((message) => {
    if (message.role !== "system" || typeof message.content !== "string") return message;
    const part = readSystemText(message.content, hasFunctions);
    return part === undefined ? message : { ...message, content: [part] };
  });
  return read;
}

/**
 * Parses a developer message. Undefined: the text differs from the renderer's output.
 *
 * @example
 * ```ts
 * import { readDeveloperText } from "harmony-gateway/harmony";
 *
 * readDeveloperText("# Instructions\n\nBe brief."); // => { type: "developer", instructions: "Be brief." }
 * readDeveloperText("Be brief."); // => undefined
 * ```
 */
export function readDeveloperText(text: string): DeveloperContent | undefined {
  if (!/^# (?:Instructions|Tools|Response Formats)\n\n/.test(text)) return undefined;
  const formats = splitAt(text, "# Response Formats");
  const responseFormats = formats && readResponseFormats(formats.section);
  const rest = responseFormats === undefined ? text : (formats?.before ?? "");
  const tools = splitAt(rest, "# Tools");
  const namespaces = tools && readToolsSection(tools.section);
  const instructions = namespaces === undefined ? rest : (tools?.before ?? "");
  const heading = "# Instructions\n\n";
  if (instructions !== "" && !instructions.startsWith(heading)) return undefined;
  const content: DeveloperContent = {
    type: "developer",
    ...(instructions !== "" && { instructions: instructions.slice(heading.length) }),
    ...(namespaces !== undefined && { namespaces }),
    ...(responseFormats !== undefined && { responseFormats }),
  };
  return developerText(content) === text ? content : undefined;
}

/**
 * Parses a system message. Undefined: the text differs from the renderer's output, or has neither effort nor channels.
 *
 * @example
 * ```ts
 * import { readSystemText } from "harmony-gateway/harmony";
 *
 * readSystemText("Reasoning: high", false); // => { type: "system", effort: "high" }
 * ```
 */
export function readSystemText(text: string, hasFunctions: boolean): SystemContent | undefined {
  const channelLine =
    /(?:^|\n\n)# Valid channels: ([^\n]*?)\.( Channel must be included for every message\.)?(?:\n[^\n]*)?$/.exec(
      text,
    );
  let rest = channelLine === null ? text : text.slice(0, channelLine.index);
  const tools = splitAt(rest, "# Tools");
  const namespaces = tools && readToolsSection(tools.section);
  if (namespaces !== undefined) rest = tools?.before ?? "";
  const effortLine = /(?:^|\n\n)Reasoning: (low|medium|high)$/.exec(rest);
  if (effortLine === null && channelLine === null) return undefined;
  if (effortLine !== null) rest = rest.slice(0, effortLine.index);
  const efforts: readonly ReasoningEffort[] = ["low", "medium", "high"];
  const effort = efforts.find((each) => each === effortLine?.[1]);
  const content: SystemContent = {
    type: "system",
    ...(effort !== undefined && { effort }),
    ...readAbout(rest),
    ...(channelLine !== null && {
      channels: (channelLine[1] ?? "").split(", "),
      channelsRequired: channelLine[2] !== undefined,
    }),
    ...(namespaces !== undefined && { namespaces }),
  };
  return systemText(content, hasFunctions) === text ? content : undefined;
}

/** Identity, cutoff and date, one line each. The identity may have several lines. */
function readAbout(text: string): Pick<SystemContent, "identity" | "knowledgeCutoff" | "date"> {
  const lines = text === "" ? [] : text.split("\n");
  const field = (label: string) => {
    if (!lines.at(-1)?.startsWith(label)) return undefined;
    return lines.pop()?.slice(label.length);
  };
  const date = field("Current date: ");
  const knowledgeCutoff = field("Knowledge cutoff: ");
  return {
    ...(lines.length > 0 && { identity: lines.join("\n") }),
    ...(knowledgeCutoff !== undefined && { knowledgeCutoff }),
    ...(date !== undefined && { date }),
  };
}

/** The last section with this heading, without the heading. */
function splitAt(
  text: string,
  heading: string,
): { readonly before: string; readonly section: string } | undefined {
  const start = `${heading}\n\n`;
  const at = text.lastIndexOf(`\n\n${start}`);
  if (at >= 0) return { before: text.slice(0, at), section: text.slice(at + 2 + start.length) };
  return text.startsWith(start) ? { before: "", section: text.slice(start.length) } : undefined;
}
