/** The request as the client sent it, and the parts of it that could not be used. */
import { html, nothing, type TemplateResult } from "lit-html";
import { shown } from "./format.ts";
import type { LoadedTurn } from "./types.ts";

export function cameBand({ record }: LoadedTurn): TemplateResult {
  const { request, conversation, answer, reasoningFrom } = record;
  const skipped = answer?.headers["x-harmony-skipped"]?.split(", ") ?? [];
  const dropped = conversation.flatMap((message, index) =>
    message.dropped ? [{ index, finishedBy: message.dropped.finishedBy }] : [],
  );
  return html`<section class="band" aria-labelledby="band-came">
    <header class="band-head">
      <h2 id="band-came">What came</h2>
      ${request === null ? nothing : html`<p><code>${request.method} ${request.path}</code></p>`}
      ${reasoningFrom === null ? nothing : reasoningNote(reasoningFrom)}
    </header>
    ${
      skipped.length + dropped.length > 0
        ? html`<ul class="unused-list" aria-label="Not used">
            ${skipped.map(
              (kind) => html`<li><s>${kind}</s> <span>left out: cannot be served here</span></li>`,
            )}
            ${dropped.map(
              ({ index, finishedBy }) =>
                html`<li>
                  <s>reasoning in message ${index + 1}</s>
                  <span>left out: the answer in message ${finishedBy + 1} finished its turn</span>
                </li>`,
            )}
          </ul>`
        : nothing
    }
    ${
      request === null
        ? html`<p class="quiet">The gateway made this turn itself.</p>`
        : html`<details>
            <summary>Request as sent</summary>
            <dl class="headers">
              ${Object.entries(request.headers).map(
                ([name, value]) =>
                  html`<dt>${name}</dt>
                    <dd>${value}</dd>`,
              )}
            </dl>
            <pre class="json" tabindex="0">${pretty(shown(request.body))}</pre>
          </details>`
    }
  </section>`;
}

function reasoningNote(from: string): TemplateResult {
  const words: Record<string, string> = {
    sent: "reasoning sent back by the client",
    sealed: "reasoning carried encrypted by the client",
    stored: "reasoning found in the store",
    lost: "reasoning lost: the client did not send it back, and it is not stored",
  };
  return html`<p class="note ${from === "lost" ? "bad" : ""}">${words[from] ?? from}</p>`;
}

/** Characters of a body that are shown. */
const MAX_SHOWN = 200_000;

function pretty(text: string): string {
  try {
    const body = JSON.stringify(JSON.parse(text), undefined, 2);
    return body.length > MAX_SHOWN ? `${body.slice(0, MAX_SHOWN)}\n…` : body;
  } catch {
    return text.slice(0, MAX_SHOWN);
  }
}
