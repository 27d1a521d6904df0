/** The model's actual output in a turn, from the calls of a run that read token by token. */
import { o200kHarmony, SPECIAL_TOKENS, type TokenId } from "../../../src/tokenizer/index.ts";
import type { MessageRole } from "./case.ts";
import type { CallRecord } from "./engine.ts";

export interface TrueMessage {
  readonly role: MessageRole;
  readonly name?: string;
  readonly text: string;
  readonly tokens: number;
  /** The last token of the message is not the model's own stop token. */
  readonly isCut: boolean;
  readonly isMalformed: boolean;
  readonly isForced: boolean;
}

interface OpenMessage extends Omit<TrueMessage, "text" | "tokens" | "isCut"> {
  readonly ids: TokenId[];
  isCut: boolean;
}

/** The messages in order, without those that the gateway did not request. */
export function toTruth(calls: readonly CallRecord[]): TrueMessage[] {
  const messages: OpenMessage[] = [];
  for (const [index, call] of calls.entries()) {
    const { completion, read } = call;
    const before = calls[index - 1];
    for (const [place, written] of completion.messages.entries()) {
      if (written.isChoice === true || written.from > read) continue;
      const to = Math.min(written.to, read);
      const ids = completion.ids.slice(written.from, to);
      const isCut =
        written.to > read || (written.to === completion.ids.length && to === written.to);
      const last = messages.at(-1);
      const isContinued =
        place === 0 &&
        written.isForced &&
        before !== undefined &&
        last?.role === written.role &&
        last.name === written.name &&
        startsIn(call.prompt) ===
          startsIn(before.prompt) + startsIn(before.completion.ids.slice(0, before.read));
      if (isContinued && last) {
        last.ids.push(...ids);
        last.isCut = isCut;
      } else {
        const { role, name, isMalformed, isForced } = written;
        messages.push({
          role,
          ...(name !== undefined && { name }),
          ids,
          isCut,
          isMalformed,
          isForced,
        });
      }
    }
  }
  return messages.map(({ ids, ...message }) => ({
    ...message,
    text: o200kHarmony().decode(ids),
    tokens: ids.length,
  }));
}

/** Number of messages begun. Text that is encoded again may have other ids, but not other messages. */
function startsIn(ids: readonly TokenId[]): number {
  return ids.filter((id) => id === SPECIAL_TOKENS["<|start|>"]).length;
}
