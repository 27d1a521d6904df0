/** The address of each chat, `/#chat=ID`, and its title in the tab. */
import { select, startNew } from "./actions.ts";
import { later } from "./late-parts.ts";
import { state, update } from "./state.ts";

const CHAT = "#chat=";
const NAME = document.title;

/** Until the chat of the address is open, the page does not change the address. */
let isOpening = true;

/** Opens the chat in the address, or fills the page with a request in it. */
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

/** Each chat that is opened is a step of the browser's history. */
export function showAddress(): void {
  const { id, title, messages } = state.current;
  document.title = messages.length === 0 ? NAME : `${title} · ${NAME}`;
  if (isOpening) return;
  const hash = isStored() ? `${CHAT}${id}` : "";
  if (location.hash !== hash) history.pushState(null, "", hash === "" ? location.pathname : hash);
}

/** Whether a reload would find it. */
function isStored(): boolean {
  return state.conversations.some(({ id }) => id === state.current.id);
}
