/**
 * The differences for Codex (0.169.0), which repeats a turn after any failure whose code it does not know, and gives up on an
 * incomplete response.
 */

/** Whether a request is from Codex, by the headers it sends. */
export function isCodex(header: (name: string) => string | undefined): boolean {
  return /^codex/i.test(header("originator") ?? header("user-agent") ?? "");
}

/** The code of a failure of the model. OpenAI has none for it; this one of OpenAI's is not retried. */
export const FATAL_CODE = "invalid_prompt";
