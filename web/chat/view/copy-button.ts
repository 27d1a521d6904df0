/** A button that copies a text, and confirms it for a moment. */
import { html, type TemplateResult } from "lit-html";
import { icon } from "../../shared/icons.ts";
import { update } from "../state.ts";

const SHOWN_MS = 1_500;

/** @param caption text beside the icon */
export function copyButton(label: string, toText: () => string, caption = ""): TemplateResult {
  return html`<button
    type="button"
    class="ghost small copy"
    title=${label}
    aria-label=${label}
    @click=${({ currentTarget }: Event) => void copy(toText(), currentTarget)}
  >
    ${icon("copy")}${icon("check")}${caption}
  </button>`;
}

/** @param button shows a confirmation for a moment */
async function copy(text: string, button: EventTarget | null): Promise<void> {
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
