/** Writes an OpenChatML document as text, with the arguments of calls checked against schemas. */
import type { Document } from "./document.ts";
import { createArgumentCheck, type ToolSchemas } from "./tool-schemas.ts";
import { writeDocument } from "./write-document.ts";

export interface RenderOptions {
  /**
   * The closing of messages. Absent: as in the document.
   * - `history`: no message ends with `<|return|>`
   * - `training`: the last message does, if it is the assistant's on `final`
   * - `completion`: like `history`, and the assistant's next message is opened
   */
  readonly mode?: "history" | "training" | "completion";
  /** Schemas of tools. Calls whose arguments do not fit are rejected. */
  readonly toolSchemas?: ToolSchemas;
}

/**
 * Throws an `OpenChatMLError` for a document that the format cannot express.
 *
 * @example
 * ```ts
 * import { renderOpenChatML } from "harmony-gateway/openchatml";
 *
 * const message = { role: "user", channel: "final", implicitChannel: true } as const;
 * const messages = [{ ...message, content: "<|end|>", end: "end" as const }];
 * renderOpenChatML({ header: null, messages }); // => "<|start|>user<|message|><<|end|><|end|>"
 * ```
 */
export function renderOpenChatML(
  document: Document,
  { mode, toolSchemas }: RenderOptions = {},
): string {
  const checkArguments = toolSchemas && createArgumentCheck(toolSchemas);
  return writeDocument(document, { mode, checkArguments });
}
