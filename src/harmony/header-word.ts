/** Words of a header that are not names of tools. */

/** Roles, channels and `all`, also joined to words that models append. */
export const NOT_FUNCTIONS =
  /^(?:assistant|all|user|system|developer|analysis|commentary|final)(?:json|code|analysis|commentary|final)*$/i;

/** A function may be called `json` or `thinking`, but without `to=` these are header words. */
export function isHeaderWord(name: string): boolean {
  return NOT_FUNCTIONS.test(name) || /^(?:json|code|thinking|thoughts?|reasoning)$/.test(name);
}
