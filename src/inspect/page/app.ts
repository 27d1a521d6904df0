/** The inspector's page: the list of turns, the selected one and the comparison. */
import { html, nothing, render, type TemplateResult } from "lit-html";
import { attempt } from "./attempt.ts";
import { relatives, runButtons } from "./again.ts";
import { answerPane, linkParts } from "./answer.ts";
import { captureTurn, followChanges, pinTurn, saveTurn } from "./api.ts";
import { cameBand } from "./request-band.ts";
import { comparePane } from "./compare.ts";
import { conversationBand } from "./conversation.ts";
import { type FirstLoad, firstLoad, loadWith, sharedTurn, toGatewayUrl } from "./first-load.ts";
import { chipsOf, toCount, toMs, toOutcome } from "./format.ts";
import { help, onKey } from "./keys.ts";
import { followAddress, readAddress } from "./address.ts";
import { followEngines } from "./follow-engines.ts";
import { listPane, toggle, whoOf } from "./list.ts";
import { overviewBar } from "./overview.ts";
import { outputBand } from "./output.ts";
import { loadRows, merge, pickOther, select, show } from "./selection.ts";
import { drawNow, onChange, type Pane, state, update } from "./store.ts";
import { toCurl } from "./to-curl.ts";
import type { LoadedTurn, Row } from "./types.ts";

const PANES: readonly (readonly [Pane, string])[] = [
  ["turn", "Turn"],
  ["compare", "Compare"],
];

function page(): TemplateResult {
  if (state.isRefused) return askForToken();
  const { turn } = state;
  return html`
    <header class="top">
      <h1><span class="logo" aria-hidden="true">◧</span> Inspector</h1>
      ${
        state.isShared
          ? nothing
          : html`<nav class="panes" aria-label="Views">
              <button
                type="button"
                class="plain narrow"
                aria-pressed=${state.isListOpen}
                @click=${() => update({ isListOpen: !state.isListOpen })}
              >
                Turns
              </button>
              ${PANES.map(
                ([pane, label]) =>
                  html`<button
                    type="button"
                    aria-pressed=${state.pane === pane}
                    @click=${() => update({ pane, isListOpen: false })}
                  >
                    ${label}
                  </button>`,
              )}
            </nav>`
      }
      <span class="end quiet">
        ${
          state.isShared
            ? "a turn in a file"
            : html`<span
                  class="dot ${state.isConnected ? "good" : "bad"}"
                  aria-hidden="true"
                ></span>
                ${state.isConnected ? "live" : "not connected"} ${state.overview?.version ?? ""}`
        }
      </span>
      <button
        type="button"
        class="plain"
        aria-label="Help"
        @click=${() => update({ isHelpOpen: true })}
      >
        ?
      </button>
    </header>
    <div class="columns ${state.isListOpen ? "list-open" : ""} ${state.isShared ? "shared" : ""}">
      ${state.isShared ? nothing : listPane(select)}
      <main tabindex="-1">
        ${state.problem === "" ? nothing : html`<p class="problem" role="alert">${state.problem}</p>`}
        ${state.isShared ? nothing : overviewBar(select)} ${mainPane(turn)}
      </main>
      ${state.pane !== "compare" && turn !== undefined ? answerPane(turn) : nothing}
    </div>
    ${state.isHelpOpen ? help() : nothing}
  `;
}

function mainPane(turn: LoadedTurn | undefined): TemplateResult {
  switch (state.pane) {
    case "compare":
      return comparePane(pickOther);
    case "turn":
      return turn === undefined ? noTurn() : turnView(turn);
    default:
      return state.pane satisfies never;
  }
}

function turnView(turn: LoadedTurn): TemplateResult {
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
        ${chipsOf(row).map(({ label, meaning }) => html`<span class="mark" title=${meaning}>${label}</span>`)}
        ${preset && html`<span>preset ${preset}</span>`}
        <span class="quiet"
          >${record.api} · ${toCount(row.promptTokens)} tokens in · ${toCount(row.completionTokens)}
          out · ${toMs(row.ms)}</span
        >
      </p>
      ${
        state.isShared
          ? nothing
          : html`<p class="actions">
              ${openInChat(turn)} ${runButtons(row)}
              <button
                type="button"
                class="plain"
                @click=${() => attempt(() => saveTurn(row, "html"))}
              >
                Save as a page
              </button>
              <button type="button" class="plain" @click=${() => attempt(() => saveForReplay(row))}>
                Save for replay
              </button>
              <button type="button" class="plain" @click=${() => attempt(() => copyCurl(turn))}>
                Copy as cURL
              </button>
              <button
                type="button"
                class="plain"
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
      ${state.isShared ? nothing : relatives(row)}
    </header>
    ${
      record.cut.length > 0
        ? html`<p class="note bad">
            The record was too large and is cut:
            ${record.cut.map(({ what, left }) => `${toCount(left)} of ${what}`).join(", ")}.
          </p>`
        : nothing
    }
    ${cameBand(turn)} ${conversationBand(turn)} ${outputBand(turn)}
  </div>`;
}

/** The gateway serves the chat, which this page links to. */
const HAS_CHAT = document.body.dataset["chat"] === "on";

/** The request fills the chat, and is not sent. Undefined content is none of the record's. */
function openInChat({ record }: LoadedTurn): TemplateResult | typeof nothing {
  const body = record.request?.body;
  if (!HAS_CHAT || typeof body !== "string" || body === "") return nothing;
  return html`<a class="plain" href="./#request=${encodeURIComponent(body)}&fork=${record.id}"
    >Open in chat</a
  >`;
}

/** No turn is shown: the list or the selected turn has not come yet, or there is none. */
function noTurn(): TemplateResult {
  const { overview, rows, selected } = state;
  if (overview !== undefined && rows.length === 0) return empty();
  const isComing = overview === undefined || selected !== undefined;
  return html`${isComing ? html`<p class="quiet pad" role="status">Loading …</p>` : nothing}`;
}

function empty(): TemplateResult {
  const base = `${toGatewayUrl()}/v1`;
  return html`<section class="empty">
    <h2>No turns yet</h2>
    <p>Point a client at the gateway, and every turn appears here as the model saw it.</p>
    <pre>OPENAI_BASE_URL=${base} OPENAI_API_KEY=any</pre>
    ${HAS_CHAT ? html`<a class="primary" href="./">Open the chat</a>` : nothing}
    <p class="quiet">or press <kbd>?</kbd> for the keys</p>
  </section>`;
}

function askForToken(): TemplateResult {
  return html`<main class="token">
    <h1>Inspector</h1>
    <p>Open the address that the gateway printed when it started, or enter its token.</p>
    <form
      @submit=${(event: Event) => {
        event.preventDefault();
        if (!(event.target instanceof HTMLFormElement)) return;
        const token = new FormData(event.target).get("token");
        const first = typeof token === "string" ? loadWith(token) : undefined;
        if (first === undefined) return;
        update({ isRefused: false });
        void start(first);
      }}
    >
      <label>Token <input name="token" type="password" autocomplete="off" required /></label>
      <button type="submit" class="primary">Open</button>
    </form>
  </main>`;
}

/** Into the gateway's folder for captures, or by the browser. */
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

/** Milliseconds for which the list waits for the newest turn: drawing both at once takes less time than one after the other. */
const MOMENT_MS = 100;

/** @param first data that has been requested already */
async function start(first: FirstLoad): Promise<void> {
  await attempt(async () => {
    const moment = new Promise((resolve) => setTimeout(resolve, MOMENT_MS));
    const overview = await first.overview;
    await Promise.race([first.newest.catch(() => undefined), moment]);
    const { filter, isGrouped, turn } = readAddress();
    update({ overview, rows: overview.turns.toReversed(), filter, isGrouped });
    const named = overview.turns.findLast(({ id }) => id === turn);
    if (named === undefined) void attempt(() => showNewest(first));
    else select(named.number);
    void attempt(followEngines);
    await moment;
    await followChanges(merge, (isConnected) => {
      update({ isConnected });
      if (isConnected) void attempt(loadRows);
    });
  });
}

async function showNewest({ newest }: FirstLoad): Promise<void> {
  const turn = await newest;
  if (turn === undefined || state.selected !== undefined) return;
  update({ selected: turn.row.number, isListOpen: false });
  show(turn, 0);
  drawNow();
}

const frame = document.querySelector("#app");
const root = frame instanceof HTMLElement ? frame : document.createElement("div");
root.id = "app";
document.body.append(root);
let isDrawn = false;
let wasHelpOpen = false;
onChange(() => {
  // Replaces the frame that the HTML came with.
  if (!isDrawn) root.replaceChildren();
  isDrawn = true;
  render(page(), root);
  if (state.isHelpOpen && !wasHelpOpen) {
    const close = document.querySelector("#close-help");
    if (close instanceof HTMLElement) close.focus();
  }
  wasHelpOpen = state.isHelpOpen;
});
linkParts(root);
document.addEventListener("keydown", onKey);
followAddress(select);
addEventListener("resize", () => update({}));
if (sharedTurn !== undefined) {
  const turn: LoadedTurn = JSON.parse(sharedTurn);
  update({ turn, selected: turn.row.number, isShared: true });
} else if (firstLoad === undefined) {
  update({ isRefused: true });
} else {
  void start(firstLoad);
}
