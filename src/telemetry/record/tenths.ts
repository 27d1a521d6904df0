/** Times in records: tenths of a millisecond as unsigned 32-bit integers. */

/** About five days. Later times are all this one. */
const MAX = 0xff_ff_ff_fe;

export function toTenths(ms: number): number {
  return limitTenths(wholeTenths(ms));
}

/** Of a clock that may have run for longer. */
export function wholeTenths(ms: number): number {
  return Math.round(ms * 10);
}

export function limitTenths(tenths: number): number {
  return tenths < MAX ? tenths : MAX;
}

export function fromTenths(tenths: number): number {
  return tenths / 10;
}
