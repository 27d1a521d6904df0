/** Times in records: tenths of a millisecond as unsigned 32-bit integers. */

/** About five days. Later times are all this one. */
const MAX = 0xff_ff_ff_fe;

export function toTenths(ms: number): number {
  const tenths = Math.round(ms * 10);
  return tenths < MAX ? tenths : MAX;
}

export function fromTenths(tenths: number): number {
  return tenths / 10;
}

export function addTenths(tenths: number, more: number): number {
  return Math.min(tenths + more, MAX);
}

/** The time of a clock that may have run for longer: 32 bits of it, of which only differences are used. */
export function clockTenths(ms: number): number {
  return (ms * 10 + 0.5) | 0;
}

/** From one time of a clock to a later one. */
export function tenthsBetween(start: number, at: number): number {
  return Math.min((at - start) >>> 0, MAX);
}
