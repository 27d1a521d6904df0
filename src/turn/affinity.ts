/** Which conversation a turn belongs to, for clients that do not say so: how it begins. */
import type { ContentPart, Message } from "../harmony/conversation.ts";
import type { Turn } from "./turn.ts";

/**
 * The same for every turn of a conversation: a hash of its tenant and of its messages up to the first of the
 * user, which later turns only add to. Says nothing of what is in them.
 */
export function toAffinity({ tenant, messages }: Pick<Turn, "tenant" | "messages">): string {
  const firstOfUser = messages.findIndex(({ role }) => role === "user");
  const first = messages.slice(0, firstOfUser + 1);
  let hash = addText(FNV_BASIS, tenant);
  for (const message of first) hash = addText(hash, toStart(message));
  return (hash >>> 0).toString(16).padStart(8, "0");
}

/** Of a long message its beginning: hashing 100,000 characters would cost more than it tells. */
const MOST_CHARACTERS = 2_000;

/** The system message is left out but for its kind: it holds the date, and a conversation may outlive a day. */
function toStart({ role, content }: Message): string {
  const text =
    typeof content === "string" ? content : content.map((part) => toPartText(part)).join("\n");
  return `${role}\n${text.length}\n${text.slice(0, MOST_CHARACTERS)}`;
}

function toPartText(part: ContentPart): string {
  switch (part.type) {
    case "text":
      return part.text;
    case "developer":
      return part.instructions ?? "";
    case "system":
      return "";
    default:
      return part satisfies never;
  }
}

const FNV_BASIS = 0x811c9dc5;

/** FNV-1a over code units, and a separator: 4 µs for the most there is of a message. */
function addText(start: number, text: string): number {
  let hash = start;
  for (let at = 0; at < text.length; at += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  }
  return Math.imul(hash ^ 0xff_ff, 0x01000193);
}
