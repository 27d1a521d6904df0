/** The repairs that the parser makes, by their names in metrics and records. */

/**
 * Each kind of repair, and its meaning. The letters refer to the rules in `docs/harmony-rules.md`, whose table a test compares with
 * this one.
 */
export const RECOVERIES = {
  // Token ids and text (T)
  "spelled-markers": "the whole completion spells its markers with ordinary tokens",
  "dropped-token": "a reserved or unknown id, or the spelling of one",
  // Structure (S)
  "repeated-start": "the header the prompt had opened was opened again",
  "stray-terminator": "a terminator where no message was open",
  "missing-start": "a message began without its start token",
  "implicit-close": "a message was closed by the beginning of the next one",
  "stray-marker": "a marker without a meaning at its position",
  "text-outside": "text outside messages",
  "continued-after-return":
    "analysis or a preamble ended with `<|return|>`, and the turn continued",
  "after-call": "something other than a further call came after a call",
  "after-end": "something came after the end of the turn",
  "imagined-turn": "a message of the user, system or developer",
  "imagined-tool-result": "the result of a tool, written by the model",
  "header-without-body": "a header and no message",
  "lost-markers": "the engine removed the markers from the text, leaving `assistantfinal`",
  // Header (H)
  "odd-role": "the role was doubled, capitalised, named, missing or unknown",
  "odd-channel": "a misspelled or unknown channel name",
  "several-channels": "more than one channel",
  "channel-in-recipient": "a second channel after the recipient",
  "odd-recipient": "the function's name was found in malformed text",
  "functions-prefix": "a built-in tool was called with `functions.` before its name",
  "missing-to": "the function's name came without `to=`",
  "missing-message": "the body followed the header directly",
  "long-header": "a header over the length limit, read as a body",
  "garbled-header": "unreadable header words without a body",
  // Result (R)
  "unoffered-tool": "a call of a function that was not offered, passed on",
  "tool-without-tools": "a call although the request had no tools",
  "lost-tool-name": "a recipient without a name",
  "extra-brackets": "closing brackets after complete arguments",
} as const;

export type Recovery = keyof typeof RECOVERIES;
