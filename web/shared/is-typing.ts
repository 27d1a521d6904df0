/** Whether a key goes to a field that takes text or a choice, so that it is no command. */
export function isTyping({ target }: KeyboardEvent): boolean {
  const fields = "textarea, select, input:not([type=checkbox], [type=file])";
  return target instanceof Element && target.matches(fields);
}
