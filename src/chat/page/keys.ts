/** The keyboard. */
import { isTyping } from "../../pages/page/is-typing.ts";
import { focusOn, startNew, stop } from "./actions.ts";
import { isPaneAbove, state, update } from "./state.ts";

/** The key that commands begin with. */
export const COMMAND = /Mac|iP(?:hone|ad)/.test(navigator.userAgent) ? "⌘" : "Ctrl";

export function onKey(event: KeyboardEvent): void {
  if (event.isComposing) return;
  const { key, shiftKey } = event;
  const isCommand = event.ctrlKey || event.metaKey;
  if (key === "Escape") {
    escape();
  } else if (isCommand && !shiftKey && key.toLowerCase() === "k") {
    event.preventDefault();
    update({ isListOpen: true });
    requestAnimationFrame(() => requestAnimationFrame(() => focusOn("#search")));
  } else if (isCommand && shiftKey && key.toLowerCase() === "o") {
    event.preventDefault();
    void startNew();
  } else if (key === "?" && !isTyping(event)) {
    update({ isHelpOpen: true });
  }
}

/** One thing at a time, the topmost first. */
function escape(): void {
  if (state.isHelpOpen) update({ isHelpOpen: false });
  else if (state.isListOpen) update({ isListOpen: false });
  else if (state.running !== undefined) stop();
  else if (state.editing !== undefined) update({ editing: undefined, draft: "", files: [] });
  else if (isPaneAbove()) update({ isPaneOpen: false });
}
