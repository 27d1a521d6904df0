/**
 * Marks the ids of a rendered conversation that the assistant sampled, on which a trainer computes its loss.
 *
 * A prompt ends with `<|start|>assistant`, so these ids are given to the model at the beginning of its turn. The model
 * samples the rest, including the terminator. Between the messages of one turn it samples `<|start|>assistant` itself,
 * because sampling continues after `<|end|>` and stops at `<|call|>` and `<|return|>`.
 */
import { isSpecial } from "../tokenizer/index.ts";
import type { Message } from "./conversation.ts";
import type { Piece } from "./pieces.ts";
import type { RenderedPrompt, RenderedSegment } from "./prompt.ts";
import { END } from "./tokens.ts";

/**
 * - `all`: every message of the assistant
 * - `last`: assistant messages after the last message that is neither the assistant's nor a tool's
 * - `final`: assistant messages on channel `final`
 */
export type LossMask = "all" | "last" | "final";

/**
 * Returns one number per id, in order: 1 if it counts towards the loss, else 0.
 *
 * @example
 * ```ts
 * import { createRenderer, lossMask } from "harmony-gateway/harmony";
 *
 * const prompt = createRenderer().renderTraining({
 *   messages: [
 *     { role: "user", content: "Hi" },
 *     { role: "assistant", channel: "final", content: "Yo" },
 *   ],
 * });
 * const mask = lossMask(prompt, "all");
 * prompt.ids.filter((_, at) => mask[at] === 1).length; // => 5
 * ```
 */
export function lossMask(prompt: RenderedPrompt, which: LossMask): Uint8Array {
  const mask = new Uint8Array(prompt.length);
  let at = 0;
  for (const { piece, isTarget } of maskedPieces(prompt, which)) {
    if (isTarget) mask.fill(1, at, at + piece.ids.length);
    at += piece.ids.length;
  }
  return mask;
}

/** Like {@link lossMask}, per piece: a piece counts as a whole. Appended ids belong to no message and are left out. */
export function* maskedPieces(
  { segments }: RenderedPrompt,
  which: LossMask,
): Generator<{ readonly piece: Piece; readonly isTarget: boolean }> {
  const rendered = segments.filter((segment) => segment.type === "rendered");
  const from = which === "last" ? lastTurn(rendered) : 0;
  let goesOn = false;
  for (const [index, { message, pieces }] of rendered.entries()) {
    const isAssistant = message?.role === "assistant";
    const isCounted =
      isAssistant && index >= from && (which !== "final" || message.channel === "final");
    const given = goesOn ? 0 : authorPieces(message);
    for (const [at, piece] of pieces.entries()) {
      yield { piece, isTarget: isCounted && at >= given };
    }
    goesOn = isAssistant && endsWith(pieces, END);
  }
}

function lastTurn(segments: readonly RenderedSegment[]): number {
  return (
    segments.findLastIndex(({ message }) => {
      return message !== undefined && message.role !== "assistant" && message.role !== "tool";
    }) + 1
  );
}

/** `<|start|>`, the role, and a name. */
function authorPieces(message: Message | undefined): number {
  return message?.name ? 3 : 2;
}

function endsWith(pieces: readonly Piece[], id: number): boolean {
  const last = pieces.at(-1)?.ids[0];
  return last !== undefined && isSpecial(last) && last === id;
}
