/**
 * The short way of ordinary ids, from a read of the engine to the event of the turn.
 *
 * Nearly all output only continues a part that is open: ids without a special one, in a body whose text is passed on at
 * once, in a turn that holds nothing back and can only be cut between two checks of the repetition guard. Such a read
 * becomes one delta here, without lists of events in between. Whatever is not provably so takes the long way
 * (`sample.ts`), from which nothing differs but the time: every counter, the transcript, the guard, the decoder's rest
 * and the recorded facts are the same afterwards. `ordinary.property.test.ts` compares the two.
 *
 * Its other two stages keep to their folders: `engines/ordinary-frames.ts` reads the ids off the engine's frame, and the
 * writers of the APIs put the delta's text between two constant strings.
 */
import type { EngineTokens } from "../engines/engine.ts";
import type { Demand } from "../streams/push-stream.ts";
import type { TurnState } from "./turn-state.ts";

/**
 * Reads ids that only continue the open part, and emits their text. Returns undefined, with nothing read, for any other
 * tokens, and the consumer's demand otherwise.
 *
 * @param isEnough is asked at each check of the repetition guard and at the end; after `true` the rest is not read.
 */
export function passOrdinary(
  state: TurnState,
  tokens: EngineTokens,
  isEnough: () => boolean,
): Demand | undefined {
  if (tokens.type !== "ids" || tokens.logprobs !== undefined || state.turn.stop.length > 0) {
    return undefined;
  }
  const { ids } = tokens;
  const { parser, repetition, usage } = state;
  if (state.takesLongWay || ids.length === 0 || !parser.canContinueBody(ids)) return undefined;

  let text = "";
  let from = 0;
  let isOver = false;
  while (from < ids.length && !isOver) {
    const to = Math.min(ids.length, from + (repetition?.idsUntilCheck ?? ids.length));
    text += parser.continueBody(ids, from, to);
    usage.add(to - from);
    repetition?.pushIds(ids, from, to);
    from = to;
    isOver = isEnough();
  }
  const read = from === ids.length ? ids : ids.slice(0, from);
  state.transcript.appendIds(read);
  const { journal } = state;
  if (journal !== undefined && (read !== ids || !journal.noteParsed(state.row, tokens))) {
    state.onFact?.(tokens);
    state.onFact?.({ type: "parsed", tokens: { type: "ids", ids: read } });
  }
  if (text === "") return true;
  const event = state.emitter.continuePart(text);
  if (event !== undefined) return state.emitOne(event);
  return state.emit(state.emitter.push([{ type: "part-delta", text }]));
}
