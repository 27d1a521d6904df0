/** A command's input and output for tests: the input is empty, and output is dropped unless a test reads it. */
import { PassThrough } from "node:stream";
import type { CommandIo } from "../../src/node/cli/command-io.ts";

export const QUIET_IO: CommandIo = {
  environment: {},
  print: () => {},
  printError: () => {},
  fail: () => {},
  home: "/nowhere",
  hasColours: false,
  stdin: new PassThrough(),
  openOutput: () => new PassThrough(),
  stderr: new PassThrough(),
};
