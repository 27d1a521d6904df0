/**
 * Which engines have shown control tokens in their text. One that has is not suspected of hiding them because
 * of a single odd answer: that is the model's doing then.
 */
import type { Engine } from "../engines/engine.ts";

const shown = new WeakSet<Engine>();

export function hasShownMarkers(engine: Engine): boolean {
  return engine.capabilities.showsMarkers === true || shown.has(engine);
}

export function rememberShownMarkers(engine: Engine): void {
  shown.add(engine);
}
