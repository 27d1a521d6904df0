/**
 * The grammar of call ids. An id names the form in which the header of its call was written, so that the call is written
 * again as it was sampled: without a store, in finished turns and after a restart.
 *
 *     call_ [ "h" form ] random
 *
 * `form` is a letter; `random`, which makes the id unguessable, has 16 characters or more. An id of another generator
 * that looks like one of ours only chooses another well-formed header.
 */
import { CALL_FORMS, type CallForm, type CallHeader, formOf } from "../harmony/call-form.ts";

const RANDOM = /^call_[\w-]{16,}$/;
const WITH_FORM = /^call_h([a-t])[\w-]{16,}$/;
const FIRST_LETTER = 0x61;

/** The id with the form of the header. Unchanged: the header is in no form, or the id too short to be one of ours. */
export function withForm(id: string, header: CallHeader | undefined): string {
  const form = formOf(header);
  if (form === undefined || !RANDOM.test(id)) return id;
  const letter = String.fromCharCode(FIRST_LETTER + CALL_FORMS.indexOf(form));
  return `call_h${letter}${id.slice("call_".length)}`;
}

/** Undefined: the id names none. */
export function formInId(id: string): CallForm | undefined {
  const [, letter] = WITH_FORM.exec(id) ?? [];
  return letter === undefined ? undefined : CALL_FORMS[letter.charCodeAt(0) - FIRST_LETTER];
}
