/** Reads the text messages of a WebSocket. */
import { refusal, RequestError } from "../errors.ts";
import { toSize } from "../middleware/limit-body.ts";
import type { Pause } from "../../streams/slices.ts";
import { parseInStages } from "../request/parse-request.ts";
import { createStages } from "../request/stages.ts";

/** The type of the message that creates a response. */
export const CREATE = "response.create";
/** In characters: types are the client's. */
const LONGEST_TYPE = 64;

export interface SocketMessage {
  readonly type: string;
  /** The response to continue. */
  readonly previous: string | undefined;
  /** The message, parsed. */
  readonly value: object;
}

/** Checks the fields that only messages have. The rest of a message that creates a response is an ordinary request. */
export async function readMessage(
  message: string,
  maxBytes: number,
  pause: Pause,
): Promise<SocketMessage> {
  if (message.length > maxBytes) {
    throw new RequestError(`The message is larger than ${toSize(maxBytes)}.`, {
      status: 413,
      errorType: "payload_too_large",
    });
  }
  const value = await parseInStages(message, createStages(message.length, pause));
  const members = new Map<string, unknown>(Object.entries(value));
  const type = members.get("type");
  if (typeof type !== "string") {
    throw refusal("type", "must be a string, such as response.create");
  }
  if (type !== CREATE) return { type: type.slice(0, LONGEST_TYPE), previous: undefined, value };
  if (members.get("background")) {
    throw refusal(
      "background",
      "not supported on a WebSocket. Send the request over HTTP, or without background",
    );
  }
  const previous = members.get("previous_response_id");
  return { type, previous: typeof previous === "string" ? previous : undefined, value };
}
