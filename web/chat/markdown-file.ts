/** Conversations as readable Markdown files that can be imported again. */
import type { AssistantPart, ComposedMessage } from "../../src/snippets/composed.ts";
import { type AnswerPart, type Conversation, type Question, toPath } from "./conversation.ts";
import { toText } from "./path-messages.ts";

const YOU = "## You";
const MODEL = "## gpt-oss";
/** Lines of a text that would begin a message, and such lines that another export has escaped. */
const ESCAPABLE = /^\\*## (?:You|gpt-oss)$/gm;
const ESCAPED = /^\\(?=\\*## (?:You|gpt-oss)$)/gm;

export function toMarkdown(conversation: Conversation): string {
  const blocks = toPath(conversation).map((message) => {
    const [heading, parts] =
      message.role === "user"
        ? [YOU, [toText(message), toFileNames(message)]]
        : [MODEL, message.parts.map((part) => toBlock(part))];
    const said = parts.filter((part) => part !== "").join("\n\n");
    return `${heading}\n\n${said.replaceAll(ESCAPABLE, "\\$&")}`;
  });
  return `# ${conversation.title}\n\n${blocks.join("\n\n")}\n`;
}

/** Names of files. Their data would be most of the exported file. */
function toFileNames({ files = [] }: Question): string {
  const names = files.flatMap((file) => ("url" in file ? `\`${file.name}\`` : []));
  return names.length === 0 ? "" : `Attached, but not in this file: ${names.join(", ")}`;
}

function toBlock(part: AnswerPart): string {
  if (part.type === "text") return part.text;
  if (part.type === "reasoning")
    return part.text === "" ? "" : `> ${part.text.replaceAll("\n", "\n> ")}`;
  const call = `\`${part.name}(${part.arguments})\` → ${part.result ?? ""}`;
  // The call has no empty line: an empty line ends it.
  return `${part.type === "ran" ? "Run by the gateway: " : ""}${call.replaceAll("\n", "\n    ")}`;
}

/** @throws Error if the file is not an export */
export function fromMarkdown(text: string): {
  readonly title?: string;
  readonly messages: readonly ComposedMessage[];
} {
  const [head = "", ...blocks] = text.split(/^(?=## (?:You|gpt-oss)$)/m);
  if (blocks.length === 0) throw new Error("it has no part that begins with “## You”");
  const messages = blocks.map((block): ComposedMessage => {
    const isUser = block.startsWith(YOU);
    const said = block
      .slice((isUser ? YOU : MODEL).length)
      .trim()
      .replaceAll(ESCAPED, "");
    return isUser ? { role: "user", text: said } : { role: "assistant", parts: readParts(said) };
  });
  const title = /^# (.+)$/m.exec(head)?.[1];
  return { messages, ...(title !== undefined && { title }) };
}

/** Parses parts. A quotation at the beginning or after a call is reasoning. */
function readParts(said: string): readonly AssistantPart[] {
  const parts: AssistantPart[] = [];
  for (const block of said.split("\n\n")) {
    const last = parts.at(-1);
    const [, name = "", written = "", result = ""] = CALL.exec(block) ?? [];
    if (name !== "") {
      const answered = result === "" ? {} : { result: outdent(result) };
      const id = `call_${parts.length}`;
      parts.push({ type: "call", id, name, arguments: outdent(written), ...answered });
    } else if (last?.type !== "text" && /^(?:>.*(?:\n|$))+$/.test(block)) {
      const text = block.replaceAll(/^> ?/gm, "");
      if (last?.type === "reasoning")
        parts[parts.length - 1] = { ...last, text: `${last.text}\n\n${text}` };
      else parts.push({ type: "reasoning", text });
    } else if (last?.type === "text") {
      parts[parts.length - 1] = { ...last, text: `${last.text}\n\n${block}` };
    } else if (block !== "") {
      parts.push({ type: "text", text: block });
    }
  }
  return parts;
}

function outdent(text: string): string {
  return text.replaceAll("\n    ", "\n");
}

const CALL = /^`([\w.-]{1,128})\((.*?)\)` → (.*)$/s;
