/** Switches between the versions of a message. */
import { html, nothing, type TemplateResult } from "lit-html";
import { step } from "../actions.ts";
import { type Message, siblingsOf } from "../conversation.ts";
import { isRunning, state } from "../state.ts";
import { iconButton } from "../../shared/icon-button.ts";

/** ‹2/3›, where a message has siblings. */
export function switcher(message: Message): TemplateResult | typeof nothing {
  const siblings = siblingsOf(state.current, message);
  if (siblings.length < 2) return nothing;
  const index = siblings.findIndex(({ id }) => id === message.id);
  const isBusy = isRunning();
  return html`<span class="switcher">
    ${iconButton("back", "Previous version", () => step(message, -1), {
      isDisabled: index === 0 || isBusy,
    })}<span>${index + 1}/${siblings.length}</span>${iconButton(
      "next",
      "Next version",
      () => step(message, 1),
      {
        isDisabled: index === siblings.length - 1 || isBusy,
      },
    )}
  </span>`;
}
