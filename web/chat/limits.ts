/** Limits of the chats on this device. */
import type { Conversation, Message } from "./conversation.ts";

const MAX_CHATS = 200;
/** Maximum characters of all chats with their files: the page has them in memory. */
const MAX_CHARACTERS = 100_000_000;

export const DROPPED = `Older chats were deleted: this device keeps ${MAX_CHATS} chats, and 100 MB.`;

/**
 * Returns the chats to delete. Pinned chats are the last.
 *
 * @param all newest first
 * @param isUsed whether a chat is shown or written, and so stays
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

/** Cached sizes: messages are immutable, and their files have megabytes. */
const sizes = new WeakMap<Message, number>();

function sizeOf(message: Message): number {
  const size = sizes.get(message) ?? JSON.stringify(message).length;
  sizes.set(message, size);
  return size;
}
