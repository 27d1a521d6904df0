/** The URL of each chat, `/#chat=ID`, and its title in the tab. */
import { select, startNew } from "./actions.ts";
import { later } from "./late-parts.ts";
import { state, update } from "./state.ts";

const CHAT = "#chat=";
const NAME = document.title;

/** True until the chat in the URL is open. Until then the page does not change the URL. */
let isOpening = true;

/** Opens the chat in the URL, or fills the page with a request in it. */
export async function openAddressed(): Promise<void> {
  isOpening = true;
  const { hash } = location;
  if (hash.startsWith("#request=")) {
    await (await later.load()).openRequest();
  } else if (hash.startsWith(CHAT)) {
    const chat = state.conversations.find(({ id }) => id === hash.slice(CHAT.length));
    if (chat !== undefined) select(chat);
    else {
      history.replaceState(null, "", location.pathname);
      update({ notice: "The chat of this address is not on this device." });
    }
  } else if (isStored()) startNew();
  isOpening = false;
  showAddress();
}

/** Adds each opened chat to the browser's history. */
export function showAddress(): void {
  const { id, title, messages } = state.current;
  document.title = messages.length === 0 ? NAME : `${title} · ${NAME}`;
  if (isOpening) return;
  const hash = isStored() ? `${CHAT}${id}` : "";
  if (location.hash !== hash) history.pushState(null, "", hash === "" ? location.pathname : hash);
}

/** Whether the chat would be found after a reload. */
function isStored(): boolean {
  return state.conversations.some(({ id }) => id === state.current.id);
}
