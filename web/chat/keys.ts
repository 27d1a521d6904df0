/** Keyboard commands. */
import { isTyping } from "../shared/is-typing.ts";
import { closeMenus } from "../shared/menus.ts";
import { cancelEdit, focusOn, startNew, stop } from "./actions.ts";
import { isPaneAbove, isRunning, showPane, state, update } from "./state.ts";

/** The modifier key of commands. */
export const COMMAND = /Mac|iP(?:hone|ad)/.test(navigator.userAgent) ? "⌘" : "Ctrl";

/** Touch screens, where Enter begins a line, because their keyboard has no Shift + Enter. */
const touch = matchMedia("(hover: none) and (pointer: coarse)");

/** Whether a key sends the text of a field: Enter without Shift. */
export function isSendKey({ key, shiftKey, isComposing }: KeyboardEvent): boolean {
  return key === "Enter" && !shiftKey && !isComposing && !touch.matches;
}

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
    startNew();
  } else if (key === "?" && !isTyping(event)) {
    update({ isHelpOpen: true });
  }
}

/** Closes one element, the topmost first. */
function escape(): void {
  if (closeMenus()) return;
  if (state.isHelpOpen) update({ isHelpOpen: false });
  else if (state.renaming !== undefined) update({ renaming: undefined });
  else if (state.isListOpen) update({ isListOpen: false });
  else if (isRunning()) stop();
  else if (state.editing !== undefined) cancelEdit();
  else if (isPaneAbove()) showPane(undefined);
}
