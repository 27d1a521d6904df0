/** Why a conversation cannot be rendered. */

export type RenderErrorCode =
  | "tool-without-name"
  | "misplaced-system-content"
  | "misplaced-developer-content";

/** The conversation cannot be written in the format. The reference rejects the same conversations. */
export class HarmonyRenderError extends Error {
  readonly code: RenderErrorCode;

  constructor(code: RenderErrorCode, message: string) {
    super(message);
    this.name = "HarmonyRenderError";
    this.code = code;
  }
}
