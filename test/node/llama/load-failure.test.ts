import { expect, test } from "vitest";
import { explainLoadFailure } from "../../../src/node/llama/engine.ts";

test.each([
  ['Invalid GGUF magic. Expected "GGUF" but got "<!DO".', "m.gguf is not a GGUF file"],
  ["A context size of 131072 is too large for the available VRAM", "does not fit in memory"],
  ["ENOENT: no such file or directory, open 'm.gguf'", "There is no file m.gguf."],
  ["EACCES: permission denied, open 'm.gguf'", "may not read m.gguf"],
  ["EISDIR: illegal operation on a directory, read", "m.gguf is a folder."],
  ["something new", "llama.cpp cannot load m.gguf: something new"],
])("%s", (message, sentence) => {
  expect(explainLoadFailure(new Error(message), "m.gguf").message).toContain(sentence);
});
