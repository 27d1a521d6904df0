/**
 * Settings of earlier versions. One that is still given is a warning at start, never a refusal: an update must not stop a
 * gateway over a line that no longer changes anything.
 */
import { toFlag, toVariable } from "./describe.ts";

/** What took the place of each: a clause that ends the warning. */
const REMOVED: Readonly<Record<string, string>> = {
  engineHttp: "undici carries HTTP to all inference servers",
  breakerFailures: "three failures to reach an inference server in a row take it out",
  inspectMaxRecords: "inspectMaxBytes bounds recorded turns, and 1,000 are kept at most",
  maxParts: "messages may have twice as many parts as maxMessages allows messages",
  maxValues: "a request may have 250,000 JSON values",
  maxDepth: "JSON in a request may be nested 64 levels deep",
};

/** The warning for a flag, a variable or a key of the config file. Undefined if it was never a setting. */
export function removedSettingWarning(written: string, where = written): string | undefined {
  for (const [name, reason] of Object.entries(REMOVED)) {
    const flag = toFlag(name);
    const spellings = [name, flag, flag.replace("--", "--no-"), toVariable(name)];
    if (spellings.includes(written)) {
      return `${where}: has been removed and has no effect: ${reason}. Delete it.`;
    }
  }
  return undefined;
}
