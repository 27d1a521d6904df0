/** Rules for messages, both when reading and when writing. */
import { isObject } from "../json-schema/index.ts";
import { isBuiltIn, isCall } from "./document.ts";
import type { Message, Terminator } from "./document.ts";
import type { WarningCode } from "./errors.ts";
import { FrameError, type FrameHeader } from "./frame.ts";
import type { ArgumentCheck } from "./tool-schemas.ts";

export interface HeaderRules {
  /** HIP-1: assistant and tool frames need their channel. */
  readonly hip1: boolean;
}

/** Checks which role may use which header fields. */
export function checkHeader(header: FrameHeader, { hip1 }: HeaderRules): void {
  const { role, channel, to } = header;
  if (hip1 && channel === undefined && (role === "assistant" || role === "tool")) {
    throw new FrameError(
      `with Harmony's profile, every ${role} message needs a channel`,
      "E-PARSE-CHANNEL-MISSING",
    );
  }
  if (!isCall(header) || channel === "commentary") return;
  if (channel === "analysis" && isBuiltIn(to ?? "")) return;
  throw new FrameError(`a call of ${to} belongs on commentary, not on ${channel ?? "final"}`);
}

/** Warnings about the closing token. */
export function checkTerminator(
  message: Pick<Message, "role" | "to" | "channel">,
  end: Terminator,
): readonly WarningCode[] {
  const calls = isCall(message);
  if (end === "call" && !calls)
    throw new FrameError("<|call|> closes a message that is not a call");
  if (calls && end !== "call") return ["W-CALL-TERMINATOR"];
  const answers = message.role === "assistant" && message.channel === "final";
  return end === "return" && !answers ? ["W-RETURN-CHANNEL"] : [];
}

/** Checks the body against the constraint, and the arguments of a call, against its tool's schema too. */
export function checkBody(
  message: Pick<Message, "role" | "to" | "constrain" | "content">,
  checkArguments?: ArgumentCheck,
): void {
  const { to = "", constrain = "", content } = message;
  const calls = isCall(message);
  if (meansJson(constrain)) {
    const value = readJson(content);
    if (calls && !isObject(value))
      throw new FrameError("the arguments are not an object", "E-CALL-SCHEMA");
  } else if (calls && content.trim() === "") {
    throw new FrameError("the arguments are missing", "E-CALL-SCHEMA");
  }
  const problem = calls ? checkArguments?.(to, content) : undefined;
  if (problem !== undefined) {
    const misfit = `the arguments do not fit the schema of ${to}: ${problem}`;
    throw new FrameError(misfit, "E-CALL-SCHEMA");
  }
}

/** `json` and the media types of JSON, in any case and with parameters. */
function meansJson(constraint: string): boolean {
  return /^(?:json|[^;]+[/+]json)(?:;.*)?$/i.test(constraint);
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new FrameError(`the body is not JSON: ${reason}`, "E-BODY-CONSTRAINT-VIOLATION");
  }
}
