/** The messages of a path in the form of a request. */
import type { ComposedMessage } from "../../src/snippets/composed.ts";
import type { Message, MessageFile, Question } from "./conversation.ts";

/** The messages on the path. Empty answers are left out: they failed at once. */
export function toMessages(path: readonly Message[]): readonly ComposedMessage[] {
  return path.flatMap((message): readonly ComposedMessage[] => {
    if (message.role === "user") {
      const files = (message.files ?? []).filter((file) => "url" in file);
      return [{ role: "user", text: toText(message), ...(files.length > 0 && { files }) }];
    }
    const parts = message.parts.filter((part) => part.type !== "ran");
    return parts.length === 0 ? [] : [{ role: "assistant", parts }];
  });
}

/** The text with the attached text files. */
export function toText({ text, files = [] }: Pick<Question, "text" | "files">): string {
  return [text, ...files.map((file) => toBlock(file))].filter((part) => part !== "").join("\n\n");
}

/** A fenced block. The fence is longer than any in the text. */
function toBlock(file: MessageFile): string {
  if (!("text" in file)) return "";
  const { name, text } = file;
  const longest = Math.max(0, ...Array.from(text.matchAll(/`{3,}/g), ([run]) => run.length));
  const fence = "`".repeat(Math.max(3, longest + 1));
  const ending = /\.([a-z0-9]{1,8})$/i.exec(name)?.[1] ?? "";
  return `${name}\n${fence}${ending}\n${text.replace(/\n$/, "")}\n${fence}`;
}
