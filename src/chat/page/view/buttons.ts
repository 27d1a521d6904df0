/** Buttons with an icon, whose name is also shown where a mouse rests on them. */
import { html, nothing, type TemplateResult } from "lit-html";
import { copy } from "../copy.ts";
import { icon, type IconName } from "../icons.ts";

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
