/** The empty conversation. */
import { html, nothing, type TemplateResult } from "lit-html";
import { send } from "../actions.ts";
import { foundEngines, toPublicUrl } from "../gateway.ts";
import { icon } from "../../shared/icons.ts";
import { SAMPLES } from "../samples.ts";
import { change, state, update } from "../state.ts";
import { copyButton } from "./copy-button.ts";

export function welcome(): TemplateResult {
  return html`<section class="welcome">
    <span class="logo large" aria-hidden="true"></span>
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
            ${icon(sample.icon)}<strong>${sample.title}</strong><span>${sample.about}</span>
          </button>`,
      )}
    </div>
    ${state.status?.engine === "demo" ? demoNote() : nothing}
    <dl class="addresses" aria-label="Base URLs for clients">
      ${address("OpenAI clients", `${toPublicUrl()}/v1`)}
      ${address("Anthropic clients", toPublicUrl())}
    </dl>
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

function address(label: string, url: string): TemplateResult {
  return html`<div>
    <dt>${label}</dt>
    <dd><code>${url}</code>${copyButton(`Copy the base URL of ${label}`, () => url)}</dd>
  </div>`;
}
