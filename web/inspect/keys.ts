/** Keyboard commands of the page, and the help that lists them. */
import type { TemplateResult } from "lit-html";
import { isTyping } from "../shared/is-typing.ts";
import { keysDialog } from "../shared/keys-dialog.ts";
import { closeMenus } from "../shared/menus.ts";
import { writeAddress } from "./address.ts";
import { move } from "./selection.ts";
import { state, type TokenView, update } from "./store.ts";

const KEYS: readonly (readonly [string, string])[] = [
  ["j", "next turn"],
  ["k", "previous turn"],
  ["/", "filter"],
  ["t", "reading, tokens, raw text"],
  ["c", "compare"],
  ["?", "this help"],
  ["Esc", "close"],
];

export function help(): TemplateResult {
  return keysDialog(KEYS, closeHelp);
}

function closeHelp(): void {
  update({ isHelpOpen: false });
}

const NEXT_VIEW: Record<TokenView, TokenView> = {
  reading: "tokens",
  tokens: "raw",
  raw: "reading",
};

export function onKey(event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") {
    if (closeMenus()) return;
    closeHelp();
    if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
    return;
  }
  if (isTyping(event)) return;
  switch (event.key) {
    case "j":
    case "k":
      move(event.key === "j" ? 1 : -1);
      return writeAddress(false);
    case "t":
      return update({ view: NEXT_VIEW[state.view] });
    case "c":
      return update({ pane: state.pane === "compare" ? "turn" : "compare" });
    case "?":
      return update({ isHelpOpen: !state.isHelpOpen });
    case "/": {
      event.preventDefault();
      const filter = document.querySelector("#filter");
      if (filter instanceof HTMLElement) filter.focus();
      return;
    }
    default:
  }
}
