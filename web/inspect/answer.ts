/** The output column: the parts that were emitted, and the answer as the client received it. */
import { html, nothing, type TemplateResult } from "lit-html";
import type { RecordedPart } from "../../src/telemetry/record/schema.ts";
import { hueOfPart, LETTERS, shown, toCount } from "./format.ts";
import type { LoadedTurn } from "./types.ts";
import { inBlocks } from "./windowed.ts";

const NAMES: Record<string, string> = {
  reasoning: "reasoning",
  preamble: "preamble",
  content: "answer",
  "tool-call": "call",
  "builtin-call": "call run here",
  "tool-result": "result",
};

/** Maximum characters of a part that are shown here. The middle column has the whole text. */
const MAX_PART = 1200;

export function answerPane({ record, row }: LoadedTurn): TemplateResult {
  const { parts, answer, end } = record;
  return html`<aside class="out" aria-labelledby="out-title">
    <h2 id="out-title">Response</h2>
    ${end === null ? html`<p class="note">The turn is running.</p>` : nothing}
    ${end?.failure ? html`<p class="problem">${shown(end.failure.message)}</p>` : nothing}
    ${end?.error ? html`<p class="problem">${end.error}</p>` : nothing}
    <ol class="parts">
      ${parts.map((part, index) => {
        const hue = hueOfPart(part.kind);
        return html`<li
          class="part ${hue} ${part.sent ? "" : "unsent"}"
          data-part=${index}
          tabindex="0"
        >
          <div class="card-head">
            <span class="badge ${hue}" aria-hidden="true">${LETTERS[hue]}</span>
            <strong>${NAMES[part.kind] ?? part.kind}</strong>
            ${part.name ? html`<code>${part.name}</code>` : nothing}
            ${part.form ? html`<span class="quiet">header ${part.form}</span>` : nothing}
            ${part.trained ? trainedNote(part.trained) : nothing}
            ${part.sent ? nothing : html`<span class="why">not sent</span>`}
            ${part.failed ? html`<span class="why">failed</span>` : nothing}
          </div>
          <div class="text">${cut(shown(part.text))}</div>
        </li>`;
      })}
    </ol>
    ${usage(end?.usage)}
    ${
      answer === null
        ? nothing
        : html`<details class="answer">
            <summary>
              Answer as sent:
              ${answer.status}${answer.events ? `, ${toCount(answer.events.length)} events` : ""}
            </summary>
            ${
              answer.events
                ? html`<div class="events">
                    ${inBlocks(
                      answer.events,
                      100,
                      `events ${row.number} ${answer.events.length}`,
                      (own) =>
                        html`${own.map(
                          ({ ms, text }) =>
                            html`<div class="event">
                              <span>${toCount(Math.round(ms))} ms</span
                              ><code>${shown(text).trim()}</code>
                            </div>`,
                        )}`,
                    )}
                  </div>`
                : html`<pre class="json" tabindex="0">${pretty(shown(answer.body))}</pre>`
            }
          </details>`
    }
  </aside>`;
}

function trainedNote({
  client,
  outcome,
  notes,
}: NonNullable<RecordedPart["trained"]>): TemplateResult {
  return html`${outcome === "mapped" ? html`→ <code>${client}</code>` : html`<span class="why">not converted</span>`}
  ${notes.map((note) => html`<span class="quiet">${shown(note)}</span>`)}`;
}

function usage(
  counts: NonNullable<LoadedTurn["record"]["end"]>["usage"],
): TemplateResult | typeof nothing {
  if (counts === undefined) return nothing;
  return html`<dl class="usage">
    <dt>tokens in</dt>
    <dd>${toCount(counts.promptTokens)}</dd>
    <dt>cached</dt>
    <dd>${toCount(counts.cachedTokens)}</dd>
    <dt>tokens out</dt>
    <dd>${toCount(counts.completionTokens)}</dd>
    <dt>reasoning</dt>
    <dd>${toCount(counts.reasoningTokens)}</dd>
  </dl>`;
}

function cut(text: string): string {
  return text.length > MAX_PART ? `${text.slice(0, MAX_PART)}…` : text;
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2);
  } catch {
    return text;
  }
}

/** Highlights the tokens of a part while the pointer or the focus is on it, and the part of a token likewise. */
export function linkParts(root: HTMLElement): void {
  const light = (event: Event): void => {
    const target = event.target instanceof Element ? event.target.closest("[data-part]") : null;
    const part = target?.getAttribute("data-part");
    for (const lit of root.querySelectorAll(".lit")) lit.classList.remove("lit");
    if (part === null || part === undefined) return;
    for (const each of root.querySelectorAll(`[data-part="${CSS.escape(part)}"]`)) {
      each.classList.add("lit");
    }
  };
  for (const name of ["mouseover", "focusin"]) root.addEventListener(name, light);
}
