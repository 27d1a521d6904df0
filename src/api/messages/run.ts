/** Runs a prepared message. */
import type { TurnEvent } from "../../turn/turn.ts";
import type { MessagesDeps } from "./deps.ts";
import type { PreparedMessage } from "./prepare.ts";
import { withoutParts } from "./warm-up.ts";

/** The events of its turn. Its thinking is stored for later requests. */
export function runMessage(
  { request, client, model, turn, options }: PreparedMessage,
  { reasoning }: Pick<MessagesDeps, "reasoning">,
  signal: AbortSignal,
): AsyncIterable<TurnEvent> {
  const events = model.run(turn, signal);
  return reasoning.keep(request.max_tokens === 0 ? withoutParts(events) : events, {
    tenant: client.tenant,
    // Calls of the gateway are sent encrypted even if thinking is hidden from the client.
    seal: options.thinking !== "none" || turn.builtins !== undefined,
  });
}
