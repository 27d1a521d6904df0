/** Derives the affinity key of a turn from the beginning of its conversation, for clients that send none. */
import type { ContentPart, Message } from "../../harmony/conversation.ts";

/**
 * Returns a hash of the tenant and of the messages up to the first user message. The hash is equal for all turns of a
 * conversation, since later turns only append. The text cannot be recovered from it.
 */
export function toAffinity(tenant: string, messages: readonly Message[]): string {
  const firstOfUser = messages.findIndex(({ role }) => role === "user");
  const first = messages.slice(0, firstOfUser + 1);
  let hash = addText(FNV_BASIS, tenant);
  for (const message of first) hash = addText(hash, toStart(message));
  return (hash >>> 0).toString(16).padStart(8, "0");
}

/** Only the beginning of a long message is hashed: more text would add cost and no distinction. */
const MOST_CHARACTERS = 2_000;

/**
 * The text of a message to hash. The system message counts by its role only: it contains the date, which may change
 * during a conversation.
 */
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

/** FNV-1a over UTF-16 code units, then a separator. A message of the maximum length takes 4 µs. */
function addText(start: number, text: string): number {
  let hash = start;
  for (let at = 0; at < text.length; at += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  }
  return Math.imul(hash ^ 0xff_ff, 0x01000193);
}
