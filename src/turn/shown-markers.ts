/**
 * Which engines hide the model's control tokens. One that has shown some is not suspected because of a single odd
 * answer: that is the model's doing then. What is known is kept for each engine of a pool, not for the pool.
 */
import type { Engine } from "../engines/engine.ts";
import type { Steering } from "./steering.ts";
import { TurnError } from "./turn-error.ts";

/** How the text of an engine is to be read. */
export interface MarkerReading {
  /** `hidden`: the engine is known to hide them. */
  readonly markers: "shown" | "hidden";
  /** Text may come whose control tokens an engine has hidden; see {@link refuseHiddenMarkers}. */
  readonly allowHiddenMarkers: boolean;
  /** Called when a control token stands in the text. */
  readonly onShownMarker: () => void;
}

const shown = new WeakSet<Engine>();

/** @param engine the one that answers. Throws a `TurnError` when it hides control tokens and nobody has allowed that. */
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

/** Throws where the control tokens of an answer are hidden, and nobody has allowed it. */
export function refuseHiddenMarkers(): never {
  throw new TurnError(
    "hidden-markers",
    "The engine behind this model hides the model's control tokens, so that its thoughts cannot be told from its " +
      "answers. Have the engine show special tokens, or allow it with the setting allowHiddenMarkers.",
  );
}
