/** `multipleOf` in decimal, because 0.3 is a multiple of 0.1 and binary fractions say it is not. */
export function isMultipleOf(value: number, divisor: number): boolean {
  if (Number.isSafeInteger(value) && Number.isSafeInteger(divisor)) return value % divisor === 0;
  // `1e400` reads as infinity.
  if (!Number.isFinite(value) || !Number.isFinite(divisor)) return false;
  const a = toDecimal(value);
  const b = toDecimal(divisor);
  // A double has no more than 309 digits before the point and 324 zeros behind it, so these are small.
  const exponent = Math.min(a.exponent, b.exponent);
  const scaled = ({ digits, exponent: own }: Decimal) => digits * 10n ** BigInt(own - exponent);
  return scaled(a) % scaled(b) === 0n;
}

interface Decimal {
  readonly digits: bigint;
  readonly exponent: number;
}

/** By the shortest spelling that reads as the same number. */
function toDecimal(value: number): Decimal {
  const [mantissa = "", exponent = "0"] = String(Math.abs(value)).split("e");
  const [whole = "", fraction = ""] = mantissa.split(".");
  return { digits: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length };
}
