/** Reads the text messages of a WebSocket. */
import { RequestError } from "../errors.ts";
import { parseBody } from "../request/parse-request.ts";

/** The type of the message that creates a response. */
export const CREATE = "response.create";
/** In characters: types are the client's. */
const LONGEST_TYPE = 64;

export interface SocketMessage {
  readonly type: string;
  /** The response to continue. */
  readonly previous: string | undefined;
}

/** Checks the fields that only messages have. The rest of a message that creates a response is an ordinary request. */
export function readMessage(message: string, maxBytes: number): SocketMessage {
  if (message.length > maxBytes) {
    throw new RequestError(`The message is larger than ${maxBytes} bytes.`, {
      status: 413,
      errorType: "payload_too_large",
    });
  }
  const members = new Map<string, unknown>(Object.entries(parseBody(message)));
  const type = members.get("type");
  if (typeof type !== "string") {
    throw new RequestError("type: must be a string, such as response.create", { param: "type" });
  }
  if (type !== CREATE) return { type: type.slice(0, LONGEST_TYPE), previous: undefined };
  if (members.get("background")) {
    throw new RequestError(
      "background: not supported on a WebSocket. Send the request over HTTP, or without background",
      {
        param: "background",
      },
    );
  }
  const previous = members.get("previous_response_id");
  return { type, previous: typeof previous === "string" ? previous : undefined };
}
