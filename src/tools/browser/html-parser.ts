/** A module of its own, because a bundle keeps all of a package that is loaded later. */
export { Tokenizer } from "htmlparser2";
