/** The empty conversation. */
import { html, nothing, type TemplateResult } from "lit-html";
import { send } from "../actions.ts";
import { SAMPLES } from "../samples.ts";
import { change, state, update } from "../state.ts";

export function welcome(): TemplateResult {
  const isDemo = state.status?.engine === "demo";
  return html`<section class="welcome">
    <h2>What should gpt-oss do?</h2>
    <p class="quiet">
      One conversation through Chat Completions, Responses or Messages, and the code for it beside
      it.
    </p>
    <div class="starters">
      ${SAMPLES.map(
        (sample) =>
          html`<button
            type="button"
            class="starter"
            @click=${() => {
              change(sample.changes);
              update({ draft: sample.text });
              send();
            }}
          >
            <strong>${sample.title}</strong><span>${sample.about}</span>
          </button>`,
      )}
    </div>
    ${
      isDemo
        ? html`<p class="note">
            This is the built-in demo. It follows fixed rules. To use a model, start the gateway
            with
            <code>--url</code> and the address of your inference server.
          </p>`
        : nothing
    }
  </section>`;
}
