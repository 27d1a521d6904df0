/** Earlier calls of the client's tools, as the model knows them. */
import type { Message } from "../../harmony/conversation.ts";
import { functionRecipient } from "../../harmony/messages.ts";
import { isSameMessage } from "../../harmony/same-message.ts";
import { trainedCallMessage } from "../../harmony/trained-tools.ts";
import { toClientCall, toTrainedBody } from "./mapping.ts";
import type { Match } from "./match.ts";

export interface TrainedHistory {
  /** The call of a trained tool for the client's. Undefined: it stays as it is. */
  toTrained(sent: Message): Message | undefined;
  /** Whether the call that the model wrote became the one that the client has sent back. */
  isWrittenFor(sent: Message, written: Message): boolean;
  /** Trained tools of which some calls of the client have no form: they stay calls of functions. */
  readonly missing: ReadonlySet<string>;
}

export function createTrainedHistory(matches: readonly Match[]): TrainedHistory {
  const byClient = Map.groupBy(matches, ({ target }) => functionRecipient(target.name));
  const byTrained = new Map(matches.map((match) => [match.tool.trained as string, match]));
  const missing = new Set<string>();
  return {
    missing,
    toTrained({ recipient = "", content }) {
      if (typeof content !== "string") return undefined;
      // A call that could not be converted was passed on under the trained name.
      const passedOn = [...byTrained.keys()].find((name) => functionRecipient(name) === recipient);
      if (passedOn !== undefined) return trainedCallMessage(passedOn, content);
      const [match] = byClient.get(recipient) ?? [];
      if (match === undefined) return undefined;
      const body = toTrainedBody(match.tool, content);
      if (body !== undefined) return trainedCallMessage(match.tool.trained, body);
      missing.add(match.tool.trained);
      return undefined;
    },
    isWrittenFor(sent, { recipient = "", content }) {
      const match = byTrained.get(recipient);
      if (match === undefined || typeof content !== "string") return false;
      if (functionRecipient(match.target.name) !== sent.recipient) return false;
      const call = toClientCall(match.tool, content);
      return "body" in call && isSameMessage({ ...sent, content: call.body }, sent);
    },
  };
}
