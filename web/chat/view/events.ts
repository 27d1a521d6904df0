/** The requests of the last answer, as sent. */
import { html, nothing, type TemplateResult } from "lit-html";
import { shorten } from "../shorten.ts";
import { type Exchange, state } from "../state.ts";

const HEADERS = /^(x-|request-id|content-type|retry-after)/;

export function eventsPane(): TemplateResult {
  const exchanges = state.exchanges.get(state.current.id) ?? [];
  if (exchanges.length === 0) {
    return html`<p class="quiet pad">
      Send a message: its request, the headers of the response and all events appear here.
    </p>`;
  }
  return html`${exchanges.map((exchange) => exchangeView(exchange))}`;
}

function exchangeView(exchange: Exchange): TemplateResult {
  const { path, body, status, headers, events, notes, dropped } = exchange;
  const shown = headers.filter(([name]) => HEADERS.test(name));
  return html`<section class="exchange">
    <h3>
      <code>POST ${path}</code>
      ${status === undefined ? nothing : html`<span class="code-of ${status < 400 ? "good" : "bad"}">${status}</span>`}
    </h3>
    ${notes.map((note) => html`<p class="note">${note}</p>`)}
    <details>
      <summary>Request</summary>
      <pre tabindex="0">${JSON.stringify(body, shortenValue, 2)}</pre>
    </details>
    <details open>
      <summary>Headers of the response</summary>
      <dl class="headers">
        ${shown.map(
          ([name, value]) =>
            html`<dt>${name}</dt>
              <dd>${value}</dd>`,
        )}
      </dl>
    </details>
    <h4>
      ${status !== undefined && status >= 400 ? "Body" : "Events"}
      <span class="quiet">· ms, data</span>
    </h4>
    <ol class="events">
      ${events.map(
        ({ ms, name, data }) =>
          html`<li>
            <span>${Math.round(ms)}</span
            ><code>${name === "" ? nothing : html`<b>${name}</b> `}${data}</code>
          </li>`,
      )}
    </ol>
    ${dropped > 0 ? html`<p class="quiet">and ${dropped} more</p>` : nothing}
  </section>`;
}

function shortenValue(_: string, value: unknown): unknown {
  return typeof value === "string" ? shorten(value) : value;
}
