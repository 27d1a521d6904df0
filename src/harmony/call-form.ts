/**
 * How the header of a call may be written: the order of recipient and channel, the channel, and the content type. Of these
 * the model writes nearly all its calls; any other header is written again in the renderer's layout.
 */
import type { Message } from "./conversation.ts";

/** The header of a call without its recipient. */
export type CallHeader = Pick<Message, "channel" | "contentType" | "order" | "isJoined">;

export interface CallForm {
  /** Such as `channel-first commentary constrain-json`. */
  readonly name: string;
  readonly header: CallHeader;
}

const ORDERS = ["recipient-first", "channel-first"] as const;
const CHANNELS = ["commentary", "analysis"] as const;
const TYPES: Readonly<Record<string, Pick<CallHeader, "contentType" | "isJoined">>> = {
  none: {},
  json: { contentType: "json" },
  "constrain-json": { contentType: "<|constrain|>json" },
  "joined-constrain-json": { contentType: "<|constrain|>json", isJoined: true },
  code: { contentType: "code" },
};

/** In an order that never changes: ids of calls name a form by its place here. */
export const CALL_FORMS: readonly CallForm[] = ORDERS.flatMap((order) =>
  CHANNELS.flatMap((channel) =>
    Object.entries(TYPES).map(([type, written]) => ({
      name: `${order} ${channel} ${type}`,
      header: { channel, ...written, order },
    })),
  ),
);

/** Undefined: the header is written in none of the forms. */
export function formOf(header: CallHeader | undefined): CallForm | undefined {
  if (header?.order === undefined) return undefined;
  const { channel, contentType, order, isJoined = false } = header;
  return CALL_FORMS.find(
    (form) =>
      form.header.order === order &&
      form.header.channel === channel &&
      form.header.contentType === contentType &&
      (form.header.isJoined ?? false) === isJoined,
  );
}
