/**
 * The known forms of a call's header: the order of recipient and channel, the channel, and the content type. The model
 * writes nearly all calls in these forms; any other header is rendered in the renderer's layout.
 */
import type { Message } from "./conversation.ts";
import { readWrittenHeader, type TranscriptSection } from "./transcript-header.ts";

/** The header of a call without its recipient. */
export type CallHeader = Pick<Message, "channel" | "contentType" | "order" | "isJoined">;

/**
 * Fields of the message's header. Absent if `<|message|>` did not close a header. `order`: present only for a call
 * whose header can be rendered exactly from these fields.
 */
export type PartHeader = CallHeader & Pick<Message, "recipient">;

export interface CallForm {
  /** The form's name, such as `channel-first commentary constrain-json`. */
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

/** All forms. Their order never changes, because ids of calls name a form by its index here. */
export const CALL_FORMS: readonly CallForm[] = ORDERS.flatMap((order) =>
  CHANNELS.flatMap((channel) =>
    Object.entries(TYPES).map(([type, written]) => ({
      name: `${order} ${channel} ${type}`,
      header: { channel, ...written, order },
    })),
  ),
);

/** Undefined: the header has none of the forms. */
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

/** A section of a header without misplaced markers. */
export type WrittenSection = TranscriptSection & { readonly after: keyof typeof MARKERS };

/** The fields of a header. `order`: present only for a call whose header can be rendered exactly from these fields. */
export function toPartHeader(sections: readonly WrittenSection[]): PartHeader {
  const { channel, recipient, contentType } = readWrittenHeader(sections, "assistant");
  const header = {
    ...(channel !== undefined && { channel }),
    ...(recipient !== undefined && { recipient }),
    ...(contentType !== undefined && { contentType }),
  };
  return recipient === undefined ? header : { ...header, ...writingOf(header, sections) };
}

const MARKERS = { start: "", channel: "<|channel|>", constrain: "<|constrain|>" } as const;

/** Undefined: the header has neither order. */
function writingOf(
  { channel, recipient, contentType }: PartHeader,
  sections: readonly WrittenSection[],
): Pick<PartHeader, "order" | "isJoined"> | undefined {
  const text = sections.map((section) => MARKERS[section.after] + section.text).join("");
  const written = text.replace(/^assistant(?= |<|$)/, "");
  const spaced = contentType === undefined ? "" : ` ${contentType}`;
  const isSpaced = written.endsWith(spaced) || !contentType?.startsWith(MARKERS.constrain);
  const type = isSpaced ? spaced : contentType;
  const isJoined = isSpaced ? {} : { isJoined: true };
  if (written === ` to=${recipient}<|channel|>${channel}${type}`) {
    return { order: "recipient-first", ...isJoined };
  }
  return written === `<|channel|>${channel} to=${recipient}${type}`
    ? { order: "channel-first", ...isJoined }
    : undefined;
}
