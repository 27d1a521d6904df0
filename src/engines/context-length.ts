/** Context lengths as servers report them. */
import type { EngineProbe } from "./engine.ts";

/** That of gpt-oss, as far as its weights go: used where none is known. */
export const GPT_OSS_CONTEXT = 131_072;

/** No context is longer: a number beyond it is a mistake, or a way to say "without limit". */
const MAX_CONTEXT_LENGTH = 100_000_000;

/** Of several places where a server may report its context length, the first that does. What cannot be one is ignored, and named. */
export function readContextLength(
  places: readonly (readonly [place: string, value: unknown])[],
): Pick<EngineProbe, "contextLength" | "warnings"> {
  const warnings: string[] = [];
  for (const [place, value] of places) {
    if (value === undefined || value === null) continue;
    if (isContextLength(value)) return { contextLength: value, ...toWarnings(warnings) };
    warnings.push(`${place} is ${describe(value)}, which is no context length: it is ignored.`);
  }
  return toWarnings(warnings);
}

function isContextLength(value: unknown): value is number {
  return (
    typeof value === "number" && Number.isInteger(value) && value > 0 && value <= MAX_CONTEXT_LENGTH
  );
}

function toWarnings(warnings: readonly string[]): Pick<EngineProbe, "warnings"> {
  return warnings.length === 0 ? {} : { warnings };
}

/** Other values may be of any size. */
function describe(value: unknown): string {
  return typeof value === "number" ? String(value) : `of type ${typeof value}`;
}
