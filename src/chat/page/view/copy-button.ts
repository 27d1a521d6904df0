/** A button that copies a text, and shows for a moment that it has. */
import { html, type TemplateResult } from "lit-html";
import { icon } from "../../../pages/page/icons.ts";
import { copy } from "../copy.ts";

/** @param caption beside the icon */
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
