/** Computes `multipleOf` in decimal: 0.3 is a multiple of 0.1, but not in binary fractions. */
export function isMultipleOf(value: number, divisor: number): boolean {
  if (Number.isSafeInteger(value) && Number.isSafeInteger(divisor)) return value % divisor === 0;
  // `JSON.parse` reads `1e400` as infinity.
  if (!Number.isFinite(value) || !Number.isFinite(divisor)) return false;
  const a = toDecimal(value);
  const b = toDecimal(divisor);
  // A double has at most 309 digits before the point and 324 zeros after it, so these are small.
  const exponent = Math.min(a.exponent, b.exponent);
  const scaled = ({ digits, exponent: own }: Decimal) => digits * 10n ** BigInt(own - exponent);
  return scaled(a) % scaled(b) === 0n;
}

interface Decimal {
  readonly digits: bigint;
  readonly exponent: number;
}

/** Uses the shortest decimal that parses to the same double. */
function toDecimal(value: number): Decimal {
  const [mantissa = "", exponent = "0"] = String(Math.abs(value)).split("e");
  const [whole = "", fraction = ""] = mantissa.split(".");
  return { digits: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length };
}
