/** Between the versions of a message. */
import { html, nothing, type TemplateResult } from "lit-html";
import { step } from "../actions.ts";
import { type Message, siblingsOf } from "../conversation.ts";
import { icon } from "../icons.ts";
import { state } from "../state.ts";

/** ‹2/3›, where a message has siblings. */
export function switcher(message: Message): TemplateResult | typeof nothing {
  const siblings = siblingsOf(state.current, message);
  if (siblings.length < 2) return nothing;
  const index = siblings.findIndex(({ id }) => id === message.id);
  return html`<span class="switcher">
    <button
      type="button"
      class="ghost small"
      aria-label="Previous version"
      ?disabled=${index === 0 || state.running !== undefined}
      @click=${() => step(message, -1)}
    >
      ${icon("back")}</button
    ><span>${index + 1}/${siblings.length}</span
    ><button
      type="button"
      class="ghost small"
      aria-label="Next version"
      ?disabled=${index === siblings.length - 1 || state.running !== undefined}
      @click=${() => step(message, 1)}
    >
      ${icon("next")}
    </button>
  </span>`;
}
