/** The right side: code, settings and events of the conversation. */
import { html, type TemplateResult } from "lit-html";
import { icon } from "../icons.ts";
import { type Pane, state, update } from "../state.ts";
import { codePane } from "./code.ts";
import { eventsPane } from "./events.ts";
import { optionsPane } from "./options.ts";

const PANES: Readonly<Record<Pane, { label: string; view: () => TemplateResult }>> = {
  code: { label: "Code", view: codePane },
  options: { label: "Settings", view: optionsPane },
  events: { label: "Events", view: eventsPane },
};
const NAMES = ["code", "options", "events"] as const;

export function pane(): TemplateResult {
  return html`<aside class="pane" aria-label="Code, settings and events">
    <div class="tabs">
      ${NAMES.map(
        (name) =>
          html`<button
            type="button"
            aria-pressed=${state.pane === name}
            @click=${() => update({ pane: name })}
          >
            ${PANES[name].label}
          </button>`,
      )}
      <button
        type="button"
        class="ghost small close"
        aria-label="Close"
        @click=${() => update({ isPaneOpen: false })}
      >
        ${icon("close")}
      </button>
    </div>
    <div class="pane-body">${PANES[state.pane].view()}</div>
  </aside>`;
}
