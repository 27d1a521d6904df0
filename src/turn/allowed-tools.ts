/** The functions that a turn's tool choice lets the model call. */
import type { Turn } from "./turn.ts";

export function allowedTools({
  tools,
  toolChoice,
}: Pick<Turn, "tools" | "toolChoice">): Turn["tools"] {
  if (toolChoice.type === "auto") return tools;
  if (toolChoice.type === "none") return [];
  return tools.filter(({ name }) => toolChoice.names.includes(name));
}
