/** Whether a key goes to a field for text or a choice, and so is not a command. */
export function isTyping({ target }: KeyboardEvent): boolean {
  const fields = "textarea, select, input:not([type=checkbox], [type=file])";
  return target instanceof Element && target.matches(fields);
}
