/** Converts earlier calls of the client's tools to the model's trained form. */
import type { Message } from "../../harmony/conversation.ts";
import { functionRecipient } from "../../harmony/messages.ts";
import { isSameMessage } from "../../harmony/same-message.ts";
import { trainedCallMessage } from "../../harmony/trained-tools.ts";
import type { ReadStep } from "../../turn/sampled/put-back.ts";
import { toClientCall, toTrainedBody } from "./mapping.ts";
import type { Match } from "./match.ts";

export interface TrainedHistory {
  /** Converts the client's call to a call of a trained tool. Undefined: the call stays unchanged. */
  toTrained(sent: Message): Message | undefined;
  /** Finds the call that the model wrote, if the client has sent it back, unchanged or converted. */
  findWritten(sent: Message, stored: ReadStep | "damaged" | undefined): Message | undefined;
  /** Trained tools with client calls that have no trained form: these stay calls of functions. */
  readonly missing: ReadonlySet<string>;
}

export function createTrainedHistory(matches: readonly Match[]): TrainedHistory {
  const byClient = Map.groupBy(matches, ({ target }) => functionRecipient(target.name));
  const byTrained = new Map<string, Match>(matches.map((match) => [match.tool.trained, match]));
  const missing = new Set<string>();
  const isSame = (sent: Message, written: Message): boolean => {
    const { recipient = "", content } = written;
    if (recipient === sent.recipient) return isSameMessage(written, sent);
    const match = byTrained.get(recipient);
    if (match === undefined || typeof content !== "string") return false;
    if (functionRecipient(match.target.name) !== sent.recipient) return false;
    const call = toClientCall(match.tool, content);
    return "body" in call && isSameMessage({ ...sent, content: call.body }, sent);
  };
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
    findWritten(sent, stored) {
      const spans = stored === undefined || stored === "damaged" ? [] : stored.spans;
      return spans.map((span) => span?.message).findLast((each) => each && isSame(sent, each));
    },
  };
}
