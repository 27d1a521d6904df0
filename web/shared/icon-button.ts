/** A button with an icon only. Its name is also its tooltip. */
import { html, nothing, type TemplateResult } from "lit-html";
import { icon, type IconName } from "./icons.ts";

export interface ButtonOptions {
  readonly isDisabled?: boolean;
  /** Whether the controlled element is open. Absent: the button controls none. */
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
