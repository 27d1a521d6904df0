/**
 * The grammar of call ids. An id names the form in which the header of its call was sampled, so that the call is
 * rendered in this form again: without a store, in finished turns and after a restart.
 *
 *     call_ [ "h" form ] random
 *
 * `form` is a letter; `random`, which makes the id unguessable, has 16 characters or more. An id of another generator
 * that matches the grammar only chooses another well-formed header.
 */
import { CALL_FORMS, type CallForm, type CallHeader, formOf } from "../harmony/call-form.ts";

const RANDOM = /^call_[\w-]{16,}$/;
const WITH_FORM = /^call_h([a-t])[\w-]{16,}$/;
const FIRST_LETTER = 0x61;

/**
 * Adds the form of the header to the id. Returns the id unchanged if the header has no form, or the id is too short.
 */
export function withForm(id: string, header: CallHeader | undefined): string {
  const form = formOf(header);
  if (form === undefined || !RANDOM.test(id)) return id;
  const letter = String.fromCharCode(FIRST_LETTER + CALL_FORMS.indexOf(form));
  return `call_h${letter}${id.slice("call_".length)}`;
}

/** Undefined: the id names no form. */
export function formInId(id: string): CallForm | undefined {
  const [, letter] = WITH_FORM.exec(id) ?? [];
  return letter === undefined ? undefined : CALL_FORMS[letter.charCodeAt(0) - FIRST_LETTER];
}
