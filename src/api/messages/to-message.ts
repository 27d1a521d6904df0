/** Collects a turn to a message, as JSON text. */
import { consume } from "../../streams/push-stream.ts";
import type { TurnEnd } from "../../turn/turn.ts";
import { WholeBlocks } from "./content-blocks.ts";
import { ContentWriter, type ReplyEvent } from "./content-writer.ts";
import { type ReplyOptions, toDiagnostics, toIterations, toMessageUsage, toStop } from "./reply.ts";

interface CollectedMessage {
  readonly end: TurnEnd;
  /** The message as JSON text, if the turn has not failed. */
  readonly toJson: () => string;
}

export async function collectMessage(
  events: AsyncIterable<ReplyEvent>,
  options: ReplyOptions,
): Promise<CollectedMessage> {
  const blocks = new WholeBlocks();
  const content = new ContentWriter(options, blocks);
  let end: TurnEnd | undefined;
  await consume(events, (event) => {
    if (event.type === "end") end = event;
    content.push(event);
    return true;
  });
  if (end === undefined) throw new Error("the turn ended without an end event");
  const ended = end;
  return { end, toJson: () => toMessage(blocks.written, ended, content, options) };
}

function toMessage(
  blocks: readonly string[],
  end: TurnEnd,
  { container }: ContentWriter,
  options: ReplyOptions,
): string {
  const { id, model } = options;
  const head = JSON.stringify({ id, type: "message", role: "assistant", model });
  const tail = JSON.stringify({
    ...toStop(end, options),
    usage: { ...toMessageUsage(end.usage), ...toIterations(end, options) },
    container,
    ...(options.contextManagement && { context_management: options.contextManagement }),
    diagnostics: toDiagnostics(options),
  });
  return `${head.slice(0, -1)},"content":[${blocks.join(",")}],${tail.slice(1)}`;
}
