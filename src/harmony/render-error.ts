/** The error for conversations that cannot be rendered. */

export type RenderErrorCode =
  | "tool-without-name"
  | "misplaced-system-content"
  | "misplaced-developer-content";

/**
 * Thrown if a conversation cannot be written in the format. The reference rejects the same conversations.
 *
 * @example
 * ```ts
 * import { createRenderer, HarmonyRenderError } from "harmony-gateway/harmony";
 *
 * let code;
 * try {
 *   createRenderer().renderMessage({ role: "tool", content: "A tool without a name" });
 * } catch (error) {
 *   if (error instanceof HarmonyRenderError) code = error.code;
 * }
 * code; // => "tool-without-name"
 * ```
 */
export class HarmonyRenderError extends Error {
  readonly code: RenderErrorCode;

  constructor(code: RenderErrorCode, message: string) {
    super(message);
    this.name = "HarmonyRenderError";
    this.code = code;
  }
}
