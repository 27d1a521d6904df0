/** The empty conversation. */
import { html, nothing, type TemplateResult } from "lit-html";
import { send } from "../actions.ts";
import { foundEngines } from "../gateway.ts";
import { icon } from "../../shared/icons.ts";
import { SAMPLES } from "../samples.ts";
import { state, update } from "../state.ts";
import { copyButton } from "./copy-button.ts";

export function welcome(): TemplateResult {
  return html`<section class="welcome">
    <span class="logo large" aria-hidden="true"></span>
    <h2>What should gpt-oss do?</h2>
    <div class="starters">
      ${SAMPLES.map(
        (sample) =>
          html`<button
            type="button"
            class="starter"
            @click=${() => {
              update({ draft: sample.text });
              send();
            }}
          >
            ${icon(sample.icon)}<strong>${sample.title}</strong><span>${sample.about}</span>
          </button>`,
      )}
    </div>
    ${state.status?.engine === "demo" ? demoNote() : nothing}
  </section>`;
}

function demoNote(): TemplateResult {
  const found = foundEngines();
  return html`<div class="note">
    <p>
      This is the built-in demo. It follows fixed rules. To use a model, start the gateway with
      <code>--url</code> and the address of your inference
      server${found.length > 0 ? ". On this machine:" : "."}
    </p>
    ${
      found.length === 0
        ? nothing
        : html`<dl class="found">
            ${found.map(
              ({ name, command }) =>
                html`<div>
                  <dt>${name}</dt>
                  <dd>
                    <code>${command}</code
                    >${copyButton(`Copy the command for ${name}`, () => command)}
                  </dd>
                </div>`,
            )}
          </dl>`
    }
  </div>`;
}
