/**
 * A request in the URL, `/#request=…`: JSON, percent-encoded. It fills the page without being sent, since the author of the link
 * is unknown. `&fork=` after it contains the id of the original turn, for the inspector.
 */
import { select } from "./actions.ts";
import { fromRequest } from "./transfer.ts";
import { update } from "./state.ts";

const PREFIX = "#request=";
const TURN_ID = /^[\w.:-]{1,128}$/;
const MAX_CHARACTERS = 2_000_000;

export async function openRequest(): Promise<void> {
  const { hash } = location;
  // After a reload or from a bookmark, the page opens without the request.
  history.replaceState(null, "", location.pathname);
  try {
    if (hash.length > MAX_CHARACTERS) throw new Error("it is too long");
    const [request = "", fork = ""] = hash.slice(PREFIX.length).split("&fork=");
    const opened = fromRequest(JSON.parse(decodeURIComponent(request)));
    const conversation = { ...opened, ...(TURN_ID.test(fork) && { forkOf: fork }) };
    const last = conversation.messages.at(-1);
    if (last?.role !== "user") return select(conversation);
    // The last question is put into the field, for the reader to send.
    select({ ...conversation, messages: conversation.messages.slice(0, -1) });
    const notice = "Opened from a link. Nothing has been sent yet.";
    update({ draft: last.text, files: last.files ?? [], notice });
  } catch (error) {
    const isBroken = error instanceof SyntaxError || error instanceof URIError;
    const reason = isBroken ? "it is not JSON" : error instanceof Error ? error.message : "";
    update({ notice: `The link was not opened: ${reason}.` });
  }
}
