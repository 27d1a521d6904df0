/** Checks model output against the request's schemas. */
import { yieldToEventLoop } from "../../streams/timers.ts";
import { isObject, type SchemaChecker } from "../../json-schema/index.ts";

/**
 * Returns undefined if `text` is a document that satisfies the schema, else why not, in words the model can
 * act on. Without a schema, any JSON object is valid. Rejects if the signal is aborted.
 */
export async function whyInvalid(
  text: string,
  checker: SchemaChecker | undefined,
  signal: AbortSignal,
): Promise<string | undefined> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return `not valid JSON: ${error instanceof Error ? error.message : String(error)}`;
  }
  if (checker === undefined) {
    return isObject(value) ? undefined : "not a JSON object";
  }
  const verdict = await checker.check(value, { pause: () => pause(signal) });
  return verdict.valid ? undefined : verdict.problem;
}

/** Yields so that other requests run first. */
async function pause(signal: AbortSignal): Promise<void> {
  await yieldToEventLoop();
  signal.throwIfAborted();
}
