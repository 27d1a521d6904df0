/** The header of a message, as records and Harmony both have it. */
import type { Message } from "../../harmony/conversation.ts";
import type { RecordedMessage } from "./schema.ts";

type Header = Pick<Message, "role" | "name" | "recipient" | "channel" | "contentType" | "order">;

/** In this order, without members that are undefined. */
export function headerOf(message: Message | RecordedMessage): Header {
  const { role, name, recipient, channel, contentType, order } = message;
  return {
    role,
    ...(name !== undefined && { name }),
    ...(recipient !== undefined && { recipient }),
    ...(channel !== undefined && { channel }),
    ...(contentType !== undefined && { contentType }),
    ...(order !== undefined && { order }),
  };
}
