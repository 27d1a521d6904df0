/** Shows the record of a turn on a terminal: the prompt for `render`, the model's output for `parse`. */
import { createPrompt, type RenderedPrompt, type Segment } from "../../harmony/prompt.ts";
import type { DroppedMessage } from "../../harmony/analysis.ts";
import type { Message } from "../../harmony/conversation.ts";
import { Piece, specialPiece } from "../../harmony/pieces.ts";
import { isSpecial, o200kHarmony, type TokenId } from "../../tokenizer/index.ts";
import { headerOf, type RecordedMessage, type TurnRecord } from "../../telemetry/record/schema.ts";
import { contentIds, contentText } from "../replay/read-record.ts";

/** The prompt as it was sent, by its ids. Throws for a record without content. */
export function toRecordedPrompt({ prompt, conversation }: TurnRecord): RenderedPrompt {
  if (prompt === null) throw new Error("The record has no prompt: its request was refused.");
  const ids = contentIds(prompt.ids);
  let at = 0;
  const segments = prompt.segments.map(({ message: index, tokens }): Segment => {
    const own = ids.slice(at, at + tokens);
    at += tokens;
    const recorded = index === null ? undefined : conversation[index];
    return {
      type: "rendered",
      pieces: toPieces(own),
      length: own.length,
      ...(recorded && { message: toMessage(recorded) }),
    };
  });
  return createPrompt(segments, o200kHarmony());
}

/** The messages that were left out of the prompt. */
export function toRecordedDrops({ conversation }: TurnRecord): DroppedMessage[] {
  return conversation.flatMap((message, index) => {
    const { dropped } = message;
    if (dropped === undefined) return [];
    return [{ message: toMessage(message), index, finishedBy: dropped.finishedBy }];
  });
}

/** The parts of the engine's output, in the form in which `parse` shows a completion. */
export function toRecordedParts({ parts }: TurnRecord) {
  return parts.map(({ kind, name, text, sent }) => ({
    part: sent ? kind : `${kind} (not sent)`,
    ...(name !== undefined && { name }),
    text: contentText(text),
  }));
}

function toMessage(message: RecordedMessage): Message {
  return { ...headerOf(message), content: contentText(message.text) };
}

function toPieces(ids: readonly TokenId[]): Piece[] {
  const pieces: Piece[] = [];
  let run: TokenId[] = [];
  const flush = (): void => {
    if (run.length > 0) pieces.push(new Piece(o200kHarmony().decode(run), run, false));
    run = [];
  };
  for (const id of ids) {
    if (isSpecial(id)) {
      flush();
      pieces.push(specialPiece(id));
    } else {
      run.push(id);
    }
  }
  flush();
  return pieces;
}
