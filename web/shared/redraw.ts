/** Draws a page once per frame after changes. */

let draw: () => void = () => undefined;
/** The frame that will draw the changes. */
let frame: number | undefined;

/** @param redraw called once per frame after changes */
export function onChange(redraw: () => void): void {
  draw = redraw;
}

export function drawSoon(): void {
  frame ??= requestAnimationFrame(drawNow);
}

/** Draws the changes without waiting for the next frame. */
export function drawNow(): void {
  if (frame === undefined) return;
  cancelAnimationFrame(frame);
  frame = undefined;
  draw();
}
