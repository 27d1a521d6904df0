/** Copies text, and says that it has. */
import { update } from "./state.ts";

const SHOWN_MS = 1_500;

/** @param button marks that it was copied, until it is no longer news */
export async function copy(text: string, button: EventTarget | null): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    update({ said: "Copied." });
    if (!(button instanceof HTMLElement)) return;
    button.dataset["copied"] = "";
    setTimeout(() => delete button.dataset["copied"], SHOWN_MS);
  } catch {
    update({ notice: "The browser does not let the page copy. Select the text, and copy it." });
  }
}
