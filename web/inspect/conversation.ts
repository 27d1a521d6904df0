/** The conversation as sent to the model, in cards with a colour and a letter per role and channel. */
import { html, nothing, type TemplateResult } from "lit-html";
import type { RecordedMessage } from "../../src/telemetry/record/schema.ts";
import {
  brokenBytes,
  hueOfMessage,
  idsOf,
  isSpecial,
  LETTERS,
  shown,
  toCount,
  tokenText,
} from "./format.ts";
import { state, type TokenView, update } from "./store.ts";
import { tokenFlow } from "./tokens.ts";
import type { LoadedTurn } from "./types.ts";
import type { Unit } from "./units.ts";

const SOURCES: Record<RecordedMessage["source"], string> = {
  client: "",
  sealed: "encrypted reasoning that the client carried",
  stored: "from the store",
  gateway: "written by the gateway",
};

/** Characters of a message that are shown at first, and that each press of its button adds: millions take seconds to lay out. */
const SHOWN = 6000;
const MORE = 200_000;

const VIEWS: readonly (readonly [TokenView, string])[] = [
  ["reading", "Reading"],
  ["tokens", "Tokens"],
  ["raw", "Raw text"],
];

function viewSwitch(): TemplateResult {
  return html`<div class="switch" role="group" aria-label="How tokens are shown (t)">
    ${VIEWS.map(
      ([view, label]) =>
        html`<button
          type="button"
          class="pill"
          aria-pressed=${state.view === view}
          @click=${() => update({ view })}
        >
          ${label}
        </button>`,
    )}
  </div>`;
}

export function conversationBand(turn: LoadedTurn): TemplateResult {
  const { conversation, prompt } = turn.record;
  const kept = conversation.filter(({ dropped }) => dropped === undefined).length;
  const cached = prompt?.cachedTokens ?? turn.record.end?.usage?.cachedTokens ?? null;
  const total = prompt?.segments.reduce((sum, { tokens }) => sum + tokens, 0) ?? 0;
  return html`<section class="band" aria-labelledby="band-saw">
    <header class="band-head">
      <h2 id="band-saw">Prompt</h2>
      <p>
        ${toCount(total)} tokens in ${kept}
        messages${cached ? html`, ${toCount(cached)} of them cached` : nothing}
      </p>
      ${viewSwitch()}
    </header>
    ${
      conversation.length === 0
        ? html`<p class="quiet">The request became no prompt.</p>`
        : state.view === "reading"
          ? conversation.map((message, index) => card(message, index, turn))
          : promptFlow(turn)
    }
  </section>`;
}

function card(message: RecordedMessage, index: number, turn: LoadedTurn): TemplateResult {
  const { dropped } = message;
  if (dropped === undefined) {
    const hue = hueOfMessage(message);
    const text = shown(message.text);
    const body = longText(text, `${turn.row.number} ${index}`);
    // Instructions are long and rarely of interest. Their first line identifies them.
    if (
      message.role === "system" ||
      (message.role === "developer" && text.split("\n").length > 6)
    ) {
      return html`<details class="card ${hue}">
        <summary>
          ${cardHead(message, index)}<span class="first-line">${firstLine(text)}</span>
        </summary>
        <div class="text">${body}</div>
      </details>`;
    }
    return html`<article class="card ${hue}">
      ${cardHead(message, index)}
      <div class="text">${body}</div>
    </article>`;
  }
  return html`<details class="card dropped">
    <summary>
      ${cardHead(message, index)}
      <span class="why">left out: finished by message ${dropped.finishedBy + 1}</span>
    </summary>
    <div class="text">${shown(message.text)}</div>
  </details>`;
}

function firstLine(text: string): string {
  return text.slice(0, 300).replaceAll(/\s+/g, " ");
}

function cardHead(message: RecordedMessage, index: number): TemplateResult {
  const hue = hueOfMessage(message);
  const source = SOURCES[message.source];
  return html`<div class="card-head">
    <span class="badge ${hue}" aria-hidden="true">${LETTERS[hue]}</span>
    <strong>${message.role}</strong>
    ${message.channel ? html`<span>${message.channel}</span>` : nothing}
    ${message.name ? html`<span>${message.name}</span>` : nothing}
    ${message.recipient ? html`<span>to <code>${message.recipient}</code></span>` : nothing}
    ${message.written?.as === "sampled" ? html`<span class="source">as sampled</span>` : nothing}
    ${
      message.written?.because
        ? html`<span class="why">rendered: ${message.written.because}</span>`
        : nothing
    }
    ${source ? html`<span class="source">${source}</span>` : nothing}
    <span class="quiet end">${index + 1} · ${toCount(message.tokens)} tokens</span>
  </div>`;
}

/** The beginning of a long text, with a button for more. */
function longText(text: string, key: string): TemplateResult {
  const end = state.opened.get(key) ?? SHOWN;
  if (text.length <= end) return html`${text}`;
  const show = (): void => update({ opened: new Map(state.opened).set(key, end + MORE) });
  const left = text.length - end;
  return html`${text.slice(0, end)}…
    <button type="button" class="pill more" @click=${show}>
      Show ${left > MORE ? `${toCount(MORE)} of ${toCount(left)}` : toCount(left)} more characters
    </button>`;
}

/** The prompt's ids, message by message. */
function promptFlow({ record, tokens, row }: LoadedTurn): TemplateResult {
  const { prompt, conversation } = record;
  if (prompt === null) return html``;
  const ids = idsOf(prompt.ids);
  if (ids.length === 0) return html`<p class="quiet">Token ids are not kept.</p>`;
  const units: Unit[] = [];
  for (const { message, tokens: length } of prompt.segments) {
    const own = message === null ? undefined : conversation[message];
    const hue = own && hueOfMessage(own);
    for (const id of ids.slice(units.length, units.length + length)) {
      units.push({
        at: units.length,
        id,
        text: tokenText(id, tokens),
        bytes: brokenBytes(id, tokens),
        isSpecial: isSpecial(id),
        ms: 0,
        part: undefined,
        hue,
        isUsed: true,
      });
    }
  }
  return html`<div class="card">${tokenFlow(units, `prompt ${row.number}`)}</div>`;
}
