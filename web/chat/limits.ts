/** How many chats this device keeps. */
import type { Conversation, Message } from "./conversation.ts";

const MAX_CHATS = 200;
/** Of all, with their files: the page has them in memory. */
const MAX_CHARACTERS = 100_000_000;

export const DROPPED = `Older chats were deleted: this device keeps ${MAX_CHATS} chats, and 100 MB.`;

/** @param all newest first */
export function beyondLimits(all: readonly Conversation[]): readonly Conversation[] {
  let characters = 0;
  return all.filter(({ messages }, index) => {
    characters += messages.reduce((sum, message) => sum + sizeOf(message), 0);
    return index > 0 && (index >= MAX_CHATS || characters > MAX_CHARACTERS);
  });
}

/** Messages do not change, and their files have megabytes. */
const sizes = new WeakMap<Message, number>();

function sizeOf(message: Message): number {
  const size = sizes.get(message) ?? JSON.stringify(message).length;
  sizes.set(message, size);
  return size;
}
