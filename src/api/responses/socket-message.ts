/** Reads the text messages of a WebSocket. */
import { refusal, RequestError } from "../errors.ts";
import { toSize } from "../middleware/limit-body.ts";
import type { Pause } from "../../streams/slices.ts";
import { parseInStages } from "../request/parse-request.ts";
import { createStages } from "../request/stages.ts";

/** The type of the message that creates a response. */
export const CREATE = "response.create";
/** The type of the message with further input for an in-flight response. */
export const STEER = "response.steer";
/** Maximum characters of a type, which the client chooses. */
const LONGEST_TYPE = 64;

export interface SocketMessage {
  readonly type: string;
  /** The lane named by the client. */
  readonly lane: string | undefined;
  /** The response to continue. */
  readonly previous: string | undefined;
  /** The message, parsed. */
  readonly value: object;
}

/** Checks the fields that only messages have. A message that creates a response is otherwise an ordinary request. */
export async function readMessage(
  message: string,
  maxBytes: number,
  pause: Pause,
): Promise<SocketMessage> {
  if (message.length > maxBytes) {
    throw new RequestError(`The message is larger than ${toSize(maxBytes)}.`, { status: 413 });
  }
  const value = await parseInStages(message, createStages(message.length, pause));
  const members = new Map<string, unknown>(Object.entries(value));
  const type = members.get("type");
  if (typeof type !== "string") {
    throw refusal("type", "must be a string, such as response.create");
  }
  const sent = members.get("previous_response_id");
  const previous = typeof sent === "string" ? sent : undefined;
  if (type !== CREATE) {
    return { type: type.slice(0, LONGEST_TYPE), lane: undefined, previous, value };
  }
  const lane = members.get("stream_id") ?? undefined;
  if (lane !== undefined && !isLane(lane)) {
    throw refusal("stream_id", "must be 1 to 256 letters, digits, underscores, dots or dashes");
  }
  if (members.get("background")) {
    throw refusal(
      "background",
      "not supported on a WebSocket. Send the request over HTTP, or without background",
    );
  }
  return { type, lane, previous, value };
}

function isLane(value: unknown): value is string {
  return typeof value === "string" && /^[\w.-]{1,256}$/.test(value);
}

/** Maximum characters of a refused message that is parsed for its lane. */
const MAX_REFUSED_LENGTH = 65_536;

/** The lane of a refused message, to which its error is sent. */
export function readLane(message: string): string | undefined {
  if (message.length > MAX_REFUSED_LENGTH) return undefined;
  try {
    const lane: unknown = Reflect.get(Object(JSON.parse(message)), "stream_id");
    return isLane(lane) ? lane : undefined;
  } catch {
    return undefined;
  }
}
