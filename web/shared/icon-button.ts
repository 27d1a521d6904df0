/** A button with an icon alone. Its name is also shown where a mouse rests on it. */
import { html, nothing, type TemplateResult } from "lit-html";
import { icon, type IconName } from "./icons.ts";

export interface ButtonOptions {
  readonly isDisabled?: boolean;
  /** Of what it opens. Absent: it opens nothing. */
  readonly isOpen?: boolean;
  readonly style?: string;
}

export function iconButton(
  name: IconName,
  label: string,
  onClick: () => unknown,
  { isDisabled = false, isOpen, style = "small" }: ButtonOptions = {},
): TemplateResult {
  return html`<button
    type="button"
    class="ghost ${style}"
    title=${label}
    aria-label=${label}
    aria-expanded=${isOpen ?? nothing}
    ?disabled=${isDisabled}
    @click=${onClick}
  >
    ${icon(name)}
  </button>`;
}
