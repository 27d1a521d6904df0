/** Limits the cost of compiling: well above realistic schemas, and 50 ms at most. */
import { compilePattern, type Pattern } from "./pattern.ts";
import { PatternError } from "./pattern-syntax.ts";
import { quote, SchemaError } from "./schema-error.ts";
import { Work } from "./work.ts";

const LIMITS = {
  // 19,000 took 110 to 300 ms. OpenAI allows 5,000 properties.
  subschemas: 6000,
  patterns: 500,
  "instructions in patterns": 50_000,
  // Compiling one costs the runtime up to 0.3 ms.
  "Unicode properties in patterns": 100,
} as const;

/** Limit of steps for reading values: 20,000 numbers, or 600 KB of text. */
const MAX_LITERAL_STEPS = 20_000;

/** The budget shared by all schemas of a request. */
export class CompileBudget {
  /** Steps for reading `const` and `enum` values. */
  readonly literals = new Work(MAX_LITERAL_STEPS, Infinity);
  readonly #used = new Map<keyof typeof LIMITS, number>();
  readonly #patterns = new Map<string, Pattern>();

  /** Throws a {@link SchemaError} when the budget is exceeded. */
  spend(amount: number, what: keyof typeof LIMITS, pointer: string): void {
    const used = (this.#used.get(what) ?? 0) + amount;
    if (used > LIMITS[what]) {
      throw new SchemaError(pointer, `is beyond the limit of ${LIMITS[what]} ${what}`);
    }
    this.#used.set(what, used);
  }

  /** Throws a {@link SchemaError} that quotes the pattern. */
  compilePattern(source: string, pointer: string): Pattern {
    const known = this.#patterns.get(source);
    if (known) return known;
    this.spend(1, "patterns", pointer);
    const properties = source.match(/\\p/gi)?.length ?? 0;
    this.spend(properties, "Unicode properties in patterns", pointer);
    const pattern = compileOrRefuse(source, pointer);
    this.spend(pattern.size, "instructions in patterns", pointer);
    this.#patterns.set(source, pattern);
    return pattern;
  }
}

function compileOrRefuse(source: string, pointer: string): Pattern {
  try {
    return compilePattern(source);
  } catch (error) {
    if (!(error instanceof PatternError)) throw error;
    throw new SchemaError(pointer, `${quote(source)} ${error.message}`);
  }
}
