/**
 * Remembers which engines show the model's control tokens. An engine that has shown control tokens is not suspected of
 * hiding them after one malformed answer. Each engine of a pool is tracked separately.
 */
import type { Engine } from "../../engines/engine.ts";
import type { Steering } from "../steering/settings.ts";
import { TurnError } from "../turn-error.ts";

/** Options of parsing an engine's text. */
export interface MarkerReading {
  /** `hidden`: the engine is known to hide control tokens. */
  readonly markers: "shown" | "hidden";
  /** Whether text is accepted whose control tokens may have been hidden; see {@link refuseHiddenMarkers}. */
  readonly allowHiddenMarkers: boolean;
  /** Called when the text contains a control token. */
  readonly onShownMarker: () => void;
}

/** No member of an engine, since embedders implement that interface, and turns learn this of it. */
const shown = new WeakSet<Engine>();

/**
 * @param engine the engine that answers. Throws a `TurnError` if it hides control tokens and the operator has
 * not allowed that.
 */
export function toMarkerReading(
  engine: Engine,
  { allowHiddenMarkers }: Pick<Steering, "allowHiddenMarkers">,
): MarkerReading {
  const { idsOut, showsMarkers = false } = engine.capabilities;
  const isHiding = idsOut === "unmarked";
  if (isHiding && !allowHiddenMarkers) refuseHiddenMarkers();
  return {
    markers: isHiding ? "hidden" : "shown",
    allowHiddenMarkers: allowHiddenMarkers || showsMarkers || shown.has(engine),
    onShownMarker: () => shown.add(engine),
  };
}

/** Throws because control tokens are hidden and the operator has not allowed that. */
export function refuseHiddenMarkers(): never {
  throw new TurnError(
    "hidden-markers",
    "The engine of this model hides control tokens, so reasoning cannot be told from the " +
      "answer. Configure the engine to show special tokens, or set allowHiddenMarkers.",
  );
}
