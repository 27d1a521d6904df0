/**
 * Reads and prints numbers as openai/harmony 0.0.8 does.
 *
 * Its JSON crate keeps 64-bit integers and reads all other numbers as doubles, by a fast algorithm that is one unit in
 * the last place off for some numbers of 16 and more digits. The result is visible in tool signatures, so the algorithm
 * is reproduced here step by step. `JSON.parse` and `String` do neither.
 */

const MAX_UNSIGNED = 2n ** 64n - 1n;
const MIN_SIGNED = -(2n ** 63n);
/** Exponents are read as signed 32-bit integers. */
const MAX_EXPONENT = 2 ** 31 - 1;
/** The highest power of ten that is a double. */
const MAX_POWER = 308;

const NUMBER = /^(-?)(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]([+-]?)(\d+))?$/;
const PLAIN_INTEGER = /^-?\d+$/;

/** Whether a JSON number is too large for a double. The reference rejects such a document. */
export function isOutOfRange(spelling: string): boolean {
  // Without an exponent, a number needs 309 digits to be out of range.
  if (spelling.length < 300 && !/[eE]/.test(spelling)) return false;
  return !Number.isFinite(toDouble(spelling));
}

/**
 * Prints a JSON number as the reference does: integers that fit 64 bits unchanged, all others with the
 * shortest digits of the double: `1.0`, `0.00001`, `1e-6`, `1.23e17`.
 */
export function toCompactNumber(spelling: string): string {
  if (PLAIN_INTEGER.test(spelling) && spelling !== "-0") {
    if (spelling.length < 19) return spelling;
    const integer = BigInt(spelling);
    if (integer >= MIN_SIGNED && integer <= MAX_UNSIGNED) return spelling;
  }
  return shortest(toDouble(spelling));
}

/** Returns the double the reference reads; infinite if it reports the number as out of range. */
function toDouble(spelling: string): number {
  const match = NUMBER.exec(spelling);
  if (!match) throw new SyntaxError(`Not a JSON number: ${spelling}`);
  const [, sign, whole = "", fraction = "", exponentSign, exponentDigits = "0"] = match;
  const { significand, exponent } = toSignificand(whole, fraction);
  const written = Number(exponentDigits);
  const down = exponentSign === "-";
  const absolute =
    written > MAX_EXPONENT
      ? significand === 0n || down
        ? 0
        : Infinity
      : scale(Number(significand), exponent + (down ? -written : written));
  return sign === "-" ? -absolute : absolute;
}

/**
 * Reads as many digits as fit 64 bits. Further digits of the integer part are counted in the exponent, further digits
 * of the fraction are lost. The first digit of the fraction is tested separately.
 */
function toSignificand(whole: string, fraction: string) {
  const first = takeDigits(0n, whole);
  const second = takeDigits(first.significand, fraction);
  return {
    significand: second.significand,
    exponent: whole.length - first.taken - second.taken,
  };
}

function takeDigits(start: bigint, digits: string): { significand: bigint; taken: number } {
  let significand = start;
  // Leading zeros always fit, and there may be millions of them.
  let taken = significand === 0n ? (/^0*/.exec(digits)?.[0].length ?? 0) : 0;
  for (; taken < digits.length; taken++) {
    const next = significand * 10n + BigInt(digits.charCodeAt(taken) - 48);
    if (next > MAX_UNSIGNED) break;
    significand = next;
  }
  return { significand, taken };
}

/** One multiplication or division by a power of ten; very small numbers take steps of 1e308. */
function scale(significand: number, exponent: number): number {
  let value = significand;
  let power = exponent;
  while (power < -MAX_POWER && value !== 0) {
    value /= 1e308;
    power += MAX_POWER;
  }
  if (value === 0) return 0;
  if (power > MAX_POWER) return Infinity;
  const factor = Number(`1e${Math.abs(power)}`);
  return power < 0 ? value / factor : value * factor;
}

function shortest(value: number): string {
  if (value === 0) return Object.is(value, -0) ? "-0.0" : "0.0";
  const sign = value < 0 ? "-" : "";
  const [mantissa = "", exponent = ""] = Math.abs(value).toExponential().split("e");
  const digits = mantissa.replace(".", "");
  const power = Number(exponent);
  if (power > 15 || power < -5) return `${sign}${mantissa}e${power}`;
  if (power < 0) return `${sign}0.${"0".repeat(-power - 1)}${digits}`;
  const whole = digits.slice(0, power + 1).padEnd(power + 1, "0");
  return `${sign}${whole}.${digits.slice(power + 1) || "0"}`;
}
