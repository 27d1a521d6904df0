/**
 * The data of a call that the gateway ran, for later requests: its messages for the model, and the tool's state. Items of such
 * calls do not contain it, so it is stored beside them, or encrypted for the client to return.
 */
import * as z from "zod";
import { lazy } from "../lazy.ts";
import type { Message } from "../harmony/conversation.ts";
import type { GatewayCallResult } from "../turn/turn.ts";

export interface KeptCall {
  readonly messages: readonly Message[];
  readonly state?: { readonly tool: string; readonly saved: string } | undefined;
}

/** The member of a stored item with this data. Clients never receive it. */
export const KEPT = "harmony";

/** Whether an item's type is one of calls that the gateway ran. */
export function isGatewayItem(type: string): boolean {
  return /^(?:web_search|code_interpreter|mcp)_call$/.test(type);
}

export function toKeptCall({ messages, state }: GatewayCallResult): KeptCall {
  return { messages, ...(state && { state }) };
}

/** Undefined: the value is not a kept call. */
export function readKeptCall(value: unknown): KeptCall | undefined {
  const read = keptCall().safeParse(value).data;
  if (read === undefined) return undefined;
  const messages = read.messages.map((message): Message => {
    if (message.role === "tool") return message;
    const { contentType, order, isJoined, ...fields } = message;
    return {
      ...fields,
      ...(contentType !== undefined && { contentType }),
      ...(order !== undefined && { order }),
      ...(isJoined !== undefined && { isJoined }),
    };
  });
  return { messages, state: read.state };
}

export function parseKeptCall(text: string): KeptCall | undefined {
  try {
    return readKeptCall(JSON.parse(text));
  } catch {
    return undefined;
  }
}

const text = lazy(() => z.string());
const headerOrder = lazy(() => z.enum(["recipient-first", "channel-first"]));

/** A call and its result. Messages of the system or the user are rejected. */
const keptCall = lazy(() =>
  z.object({
    messages: z
      .array(
        z.discriminatedUnion("role", [
          z.object({
            role: z.literal("assistant"),
            recipient: text(),
            channel: text(),
            contentType: text().optional(),
            order: headerOrder().optional(),
            isJoined: z.boolean().optional(),
            content: text(),
          }),
          z.object({
            role: z.literal("tool"),
            name: text(),
            recipient: z.literal("assistant"),
            channel: text(),
            content: text(),
          }),
        ]),
      )
      .max(2),
    state: z.object({ tool: text(), saved: text() }).optional(),
  }),
);
