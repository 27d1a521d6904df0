/** Times as records keep them: whole tenths of a millisecond, in 32 bits. */

/** What five days take; later times are not told apart. */
const MAX = 0xff_ff_ff_fe;

export function toTenths(ms: number): number {
  return Math.min(MAX, Math.round(ms * 10));
}

export function fromTenths(tenths: number): number {
  return tenths / 10;
}
