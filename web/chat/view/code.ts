/** The conversation as code for the usual clients. */
import { html, nothing, type TemplateResult } from "lit-html";
import { toBody } from "../../../src/snippets/bodies.ts";
import { CLIENTS, toSnippet } from "../../../src/snippets/index.ts";
import { toComposed } from "../compose.ts";
import { toMessages } from "../path-messages.ts";
import { toPath } from "../conversation.ts";
import type { ComposedMessage } from "../../../src/snippets/composed.ts";
import { isShortened, shorten } from "../shorten.ts";
import { getKey, toPublicUrl } from "../gateway.ts";
import { highlight } from "../highlight.ts";
import { state, update } from "../state.ts";
import { copyButton } from "./copy-button.ts";

export function codePane(): TemplateResult {
  const { api } = state.current;
  const clients = CLIENTS.filter(({ apis }) => apis.includes(api));
  const client = clients.find(({ id }) => id === state.client) ?? clients[0];
  if (client === undefined) return html``;
  return html`
    <dl class="addresses" aria-label="Base URLs for clients">
      ${baseUrl("OpenAI clients", `${toPublicUrl()}/v1`)}
      ${baseUrl("Anthropic clients", toPublicUrl())}
    </dl>
    <div class="clients" role="group" aria-label="Client">
      ${clients.map(
        ({ id, label }) =>
          html`<button
            type="button"
            class="pill"
            aria-pressed=${id === client.id}
            @click=${() => update({ client: id })}
          >
            ${label}
          </button>`,
      )}
    </div>
    ${codeView(client.id)}
  `;
}

function baseUrl(label: string, url: string): TemplateResult {
  return html`<div>
    <dt>${label}</dt>
    <dd><code>${url}</code>${copyButton(`Copy the base URL of ${label}`, () => url)}</dd>
  </div>`;
}

function codeView(client: string): TemplateResult {
  try {
    const { file, code, run, language, note } = toSnippet(client, currentRequest());
    return html`<figure class="code">
        <figcaption>
          <span>${file}</span>
          ${copyButton("Copy code", () => code, "Copy")}
        </figcaption>
        <pre tabindex="0"><code>${highlight(code, language)}</code></pre>
      </figure>
      ${run === "" ? nothing : html`<p class="run"><span class="quiet">Run</span> <code>${run}</code></p>`}
      ${note === undefined ? nothing : html`<p class="note">${note}</p>`}
      ${isShortened(code) ? html`<p class="note">Put the data of the attached files where the dots are.</p>` : nothing}
      ${
        getKey() === ""
          ? nothing
          : html`<label class="tick">
              <input
                type="checkbox"
                .checked=${state.withKey}
                @change=${() => update({ withKey: !state.withKey })}
              />
              with my key
            </label>`
      }`;
  } catch (error) {
    return html`<p class="problem" role="alert">${error instanceof Error ? error.message : ""}</p>`;
  }
}

/** The request up to the last question, from which the shown answer was made. */
function currentRequest() {
  const { current, draft, files, withKey, status } = state;
  const path = toPath(current);
  const last = path.at(-1);
  const asked =
    last?.role === "assistant" && last.parts.at(-1)?.type !== "call" ? path.slice(0, -1) : path;
  const composed = toComposed(current, asked);
  const text = draft.trim() === "" && files.length === 0 ? "Hello!" : draft;
  const written = { id: "", parent: null, role: "user", text, files } as const;
  const messages = composed.messages.length > 0 ? composed.messages : toMessages([written]);
  const key = getKey();
  return {
    origin: toPublicUrl(),
    api: current.api,
    body: toBody(current.api, { ...composed, messages: messages.map(withoutData) }),
    key: key === "" ? undefined : withKey ? key : ("variable" as const),
    contextLength: status?.models.find(({ id }) => id === composed.model)?.contextLength,
  };
}

/** Shortens a picture's data: megabytes of it would hide the code. */
function withoutData(message: ComposedMessage): ComposedMessage {
  if (message.role !== "user" || message.files === undefined) return message;
  const files = message.files.map(({ name, url }) => ({ name, url: shorten(url) }));
  return { ...message, files };
}
