/** The body of a system message: model identity, reasoning effort and valid channels. */

import type { SystemContent } from "./conversation.ts";
import { toolsSection } from "./tools.ts";

/**
 * Joins the sections with a blank line. Sections that are not set are left out; with none set the body is empty.
 *
 * `hasFunctions`: a developer message in the conversation offers functions. The channel section then names the channel
 * of calls. Functions in the system content itself do not count.
 *
 * @example
 * ```ts
 * import { systemText } from "harmony-gateway/harmony";
 *
 * systemText({ type: "system", identity: "You are a parrot.", effort: "low" }, false); // => "You are a parrot.\n\nReasoning: low"
 * ```
 */
export function systemText(content: SystemContent, hasFunctions: boolean): string {
  const { identity, knowledgeCutoff, date, effort, namespaces = [] } = content;
  const about = [
    identity,
    knowledgeCutoff === undefined ? undefined : `Knowledge cutoff: ${knowledgeCutoff}`,
    date === undefined ? undefined : `Current date: ${date}`,
  ].filter((line) => line !== undefined);
  const sections = [
    about.length === 0 ? undefined : about.join("\n"),
    effort === undefined ? undefined : `Reasoning: ${effort}`,
    namespaces.length === 0 ? undefined : toolsSection(namespaces),
    channelSection(content, hasFunctions),
  ];
  return sections.filter((section) => section !== undefined).join("\n\n");
}

function channelSection(
  { channels = [], channelsRequired = false }: SystemContent,
  hasFunctions: boolean,
): string | undefined {
  if (channels.length === 0) return undefined;
  const required = channelsRequired ? " Channel must be included for every message." : "";
  const functions = hasFunctions
    ? "\nCalls to these tools must go to the commentary channel: 'functions'."
    : "";
  return `# Valid channels: ${channels.join(", ")}.${required}${functions}`;
}
