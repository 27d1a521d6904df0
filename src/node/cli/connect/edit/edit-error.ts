/** A file is in a form in which a value cannot be set without risk to the rest. */
export class EditError extends Error {
  override readonly name = "EditError";
}

/** The line break that a text uses. */
export function lineBreakOf(text: string): "\n" | "\r\n" {
  return text.includes("\r\n") ? "\r\n" : "\n";
}

/** The number of the line at an index, counted from 1. */
export function lineAt(text: string, index: number): number {
  return text.slice(0, index).split("\n").length;
}
