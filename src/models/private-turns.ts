/** Models whose turns are private: records, traces and logs leave their content out. */
import { hookTurns, type Model, type Models, type TurnHook, withTurnHook } from "./models.ts";

const runPrivately: TurnHook = (_, turn, signal, run) => run({ ...turn, isPrivate: true }, signal);

export function withPrivateTurns(models: Models): Models {
  return withTurnHook(models, runPrivately);
}

export function toPrivateModel(model: Model): Model {
  return hookTurns(model, runPrivately);
}
