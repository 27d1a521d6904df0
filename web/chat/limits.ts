/** How many chats this device keeps. */
import type { Conversation, Message } from "./conversation.ts";

const MAX_CHATS = 200;
/** Of all, with their files: the page has them in memory. */
const MAX_CHARACTERS = 100_000_000;

export const DROPPED = `Older chats were deleted: this device keeps ${MAX_CHATS} chats, and 100 MB.`;

/**
 * Pinned chats are the last to go.
 *
 * @param all newest first
 * @param isUsed those that are shown or written stay
 */
export function beyondLimits(
  all: readonly Conversation[],
  isUsed: (chat: Conversation) => boolean,
): readonly Conversation[] {
  const rank = (chat: Conversation) => (isUsed(chat) ? 0 : chat.isPinned ? 1 : 2);
  let characters = 0;
  return all
    .toSorted((a, b) => rank(a) - rank(b))
    .filter((chat, index) => {
      characters += chat.messages.reduce((sum, message) => sum + sizeOf(message), 0);
      return !isUsed(chat) && (index >= MAX_CHATS || characters > MAX_CHARACTERS);
    });
}

/** Messages do not change, and their files have megabytes. */
const sizes = new WeakMap<Message, number>();

function sizeOf(message: Message): number {
  const size = sizes.get(message) ?? JSON.stringify(message).length;
  sizes.set(message, size);
  return size;
}
