/** The right side: code, settings and events of the conversation. */
import { html, type TemplateResult } from "lit-html";
import { panes } from "../late-parts.ts";
import { type Pane, showPane, state } from "../state.ts";
import { iconButton } from "../../shared/icon-button.ts";

const TABS: readonly (readonly [Pane, string])[] = [
  ["code", "Code"],
  ["options", "Settings"],
  ["events", "Events"],
];

export function pane(): TemplateResult {
  void panes.load().catch(() => undefined);
  return html`<aside class="pane" aria-label="Code, settings and events">
    <div class="tabs">
      ${TABS.map(
        ([name, label]) =>
          html`<button
            type="button"
            aria-pressed=${state.pane === name}
            @click=${() => showPane(name)}
          >
            ${label}
          </button>`,
      )}
      ${iconButton("close", "Close", () => showPane(undefined), { style: "small close" })}
    </div>
    <div class="pane-body">${panes.loaded?.PANES[state.pane]()}</div>
  </aside>`;
}
