/** The selected turn: its summary, its actions, and its bands. */
import { html, nothing, type TemplateResult } from "lit-html";
import { guard } from "lit-html/directives/guard.js";
import { toGatewayUrl } from "../shared/gateway-url.ts";
import { relatives, runButtons } from "./again.ts";
import { captureTurn, pinTurn, saveTurn } from "./api.ts";
import { attempt } from "./attempt.ts";
import { conversationBand } from "./conversation.ts";
import { chipsOf, toCount, toMs, toOutcome } from "./format.ts";
import { toggle, whoOf } from "./list.ts";
import { outputBand } from "./output.ts";
import { requestBand } from "./request-band.ts";
import { state, update } from "./store.ts";
import { toCurl } from "./to-curl.ts";
import { toolCallsBand } from "./tool-calls.ts";
import type { LoadedTurn, Row } from "./types.ts";

export function turnView(turn: LoadedTurn): TemplateResult {
  const { record, row } = turn;
  const { word, tone } = toOutcome(row);
  const preset = record.settings?.preset?.name;
  return html`<div class="turn">
    <header class="turn-head">
      <p class="turn-title">
        <span class="dot ${tone}" aria-hidden="true"></span> <strong>${word}</strong>
        <button
          type="button"
          class="mark"
          title="Show only turns of this key"
          @click=${() => toggle("key", row.tenant)}
        >
          ${whoOf(row)}
        </button>
        <span>${record.model}</span>
        ${preset && html`<span>preset ${preset}</span>`}
        <span class="quiet"
          >${API_NAMES[record.api]} · ${toCount(row.promptTokens)} tokens in ·
          ${toCount(row.completionTokens)} out · ${toMs(row.ms)}</span
        >
      </p>
      ${
        state.isShared
          ? nothing
          : html`<p class="actions">
              ${guard([record], () => openInChat(turn))} ${runButtons(row)} ${exportMenu(turn)}
              <button
                type="button"
                class="pill"
                aria-pressed=${row.isPinned}
                ?disabled=${!row.isComplete}
                title="A pinned turn is kept, also when others are dropped or cleared"
                @click=${() => attempt(() => pinTurn(row))}
              >
                ${row.isPinned ? "Pinned" : "Pin"}
              </button>
              <span role="status">${state.notice}</span>
            </p>`
      }
      ${chipsMeaning(row)} ${state.isShared ? nothing : relatives(row)}
    </header>
    ${
      record.cut.length > 0
        ? html`<p class="note bad">
            The record was too large and is cut:
            ${record.cut.map(({ what, left }) => `${toCount(left)} of ${what}`).join(", ")}.
          </p>`
        : nothing
    }
    ${guard(
      // A million tokens take a second to lay out: changes of the list do not affect them.
      [record, state.view, state.opened],
      () =>
        html`${requestBand(turn)} ${conversationBand(turn)} ${toolCallsBand(turn)}
        ${outputBand(turn)}`,
    )}
  </div>`;
}

const API_NAMES = {
  "chat-completions": "Chat Completions",
  responses: "Responses",
  messages: "Messages",
} satisfies Record<LoadedTurn["record"]["api"], string>;

/** The meanings of the chips in full, not only as tooltips. */
function chipsMeaning(row: Row): TemplateResult | typeof nothing {
  const chips = chipsOf(row);
  if (chips.length === 0) return nothing;
  return html`<ul class="meanings">
    ${chips.map(({ label, meaning }) => html`<li><span class="mark">${label}</span> ${meaning}</li>`)}
  </ul>`;
}

function exportMenu(turn: LoadedTurn): TemplateResult {
  const { row } = turn;
  const actions: readonly (readonly [string, () => Promise<void>])[] = [
    ["Save as a page", () => saveTurn(row, "html")],
    ["Save for replay, as JSON", () => saveForReplay(row)],
    ["Copy as cURL", () => copyCurl(turn)],
  ];
  return html`<details class="menu">
    <summary class="pill">Export</summary>
    <div class="menu-items">
      ${actions.map(
        ([label, deed]) =>
          html`<button type="button" @click=${() => attempt(deed)}>${label}</button>`,
      )}
    </div>
  </details>`;
}

/** Maximum length of a request in a link: neither Chromium nor the chat opens a URL of more than two million characters. */
const MAX_LINKED = 1_900_000;

/** A link that fills the chat with the request, without sending it. There is no link without a recorded body. */
function openInChat({ record }: LoadedTurn): TemplateResult | typeof nothing {
  const body = record.request?.body;
  if (!state.hasChat || typeof body !== "string" || body === "") return nothing;
  const request = body.length > MAX_LINKED ? undefined : encodeURIComponent(body);
  if (request === undefined || request.length > MAX_LINKED) {
    return html`<span class="quiet">Too long to open in the chat</span>`;
  }
  return html`<a class="pill" href="./#request=${request}&fork=${record.id}">Open in chat</a>`;
}

/** Saves the turn into the gateway's folder for captures, or as a download. */
async function saveForReplay(row: Row): Promise<void> {
  if (!state.overview?.hasCapture) return saveTurn(row, "json");
  update({ notice: `Saved as ${await captureTurn(row)}`, problem: "" });
}

async function copyCurl({ record }: LoadedTurn): Promise<void> {
  const command = toCurl(record, toGatewayUrl(), state.overview?.hasKeys ?? false);
  if (command === undefined) return update({ problem: "The request is not kept." });
  await navigator.clipboard.writeText(command);
  update({ notice: "Copied.", problem: "" });
}
