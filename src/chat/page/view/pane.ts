/** The right side: code, settings and events of the conversation. */
import { html, type TemplateResult } from "lit-html";
import { icon } from "../icons.ts";
import { type Pane, state, update } from "../state.ts";

const LABELS: Readonly<Record<Pane, string>> = {
  code: "Code",
  options: "Settings",
  events: "Events",
};
const NAMES = ["code", "options", "events"] as const;

/** Loaded beside the page: nobody needs them to type. */
let views: Readonly<Record<Pane, () => TemplateResult>> | undefined;

export async function loadPanes(): Promise<void> {
  views = (await import("./panes.ts")).PANES;
  update({});
}

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
            ${LABELS[name]}
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
    <div class="pane-body">${views?.[state.pane]()}</div>
  </aside>`;
}
