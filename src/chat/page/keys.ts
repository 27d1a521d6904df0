/** The keyboard. */
import { focusOn, startNew } from "./actions.ts";
import { stop } from "./send.ts";
import { state, update } from "./state.ts";

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
  } else if (key === "?" && !isTyping(event.target)) {
    update({ isHelpOpen: true });
  }
}

/** One thing at a time, the topmost first. */
function escape(): void {
  if (state.isHelpOpen) update({ isHelpOpen: false });
  else if (state.isListOpen) update({ isListOpen: false });
  else if (state.running !== undefined) stop();
  else if (state.editing !== undefined) update({ editing: undefined, draft: "" });
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}
