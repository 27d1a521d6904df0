/** A separate module, because a bundle keeps all of a package that is imported dynamically. */
export { Tokenizer } from "htmlparser2";
