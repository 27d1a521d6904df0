/** The inspector's page: the list of turns, the selected one and the comparison. */
import { html, nothing, render, type TemplateResult } from "lit-html";
import { guard } from "lit-html/directives/guard.js";
import { placesOf } from "../../src/api/pages/places.ts";
import { toGatewayUrl } from "../shared/gateway-url.ts";
import { iconButton } from "../shared/icon-button.ts";
import { watchMenus } from "../shared/menus.ts";
import { drawNow, onChange } from "../shared/redraw.ts";
import { topBar } from "../shared/top-bar.ts";
import { attempt } from "./attempt.ts";
import { answerPane, linkParts } from "./answer.ts";
import { followChanges } from "./api.ts";
import { comparePane } from "./compare.ts";
import { type FirstLoad, firstLoad, loadWith, sharedTurn } from "./first-load.ts";
import { toCount } from "./format.ts";
import { help, onKey } from "./keys.ts";
import { followAddress, openNamed, readAddress } from "./address.ts";
import { followEngines } from "./follow-engines.ts";
import { listPane } from "./list.ts";
import { overviewBar } from "./overview.ts";
import { loadRows, merge, readKeyUses, show } from "./selection.ts";
import { type Pane, state, update } from "./store.ts";
import { turnView } from "./turn-view.ts";
import type { LoadedTurn } from "./types.ts";

const PANES: readonly (readonly [Pane, string])[] = [
  ["turn", "Turn"],
  ["compare", "Compare"],
];

function page(): TemplateResult {
  return html`${top()} ${state.isRefused ? askForToken() : columns()}
  ${state.isHelpOpen ? help() : nothing}`;
}

function top(): TemplateResult {
  const { isShared, isRefused, isListOpen, hasChat } = state;
  return topBar({
    current: "Inspector",
    places: isShared ? [] : placesOf({ hasChat, hasInspector: true }),
    menu:
      isShared || isRefused || !hasList()
        ? nothing
        : iconButton("menu", "Turns", () => update({ isListOpen: !isListOpen }), {
            isOpen: isListOpen,
            style: "only-narrow",
          }),
    status: statusText(),
    tools: nothing,
    showHelp: () => update({ isHelpOpen: true }),
    redraw: () => update({}),
  });
}

/** Whether the list is shown. Without turns a narrow screen shows instructions in its place, unless the list has to be resumed. */
function hasList(): boolean {
  return state.rows.length > 0 || state.isPaused;
}

function statusText(): TemplateResult {
  const { isShared, isRefused, isConnected, isPaused } = state;
  if (isShared) return html`a turn in a file`;
  if (isRefused) return html`<span class="dot" aria-hidden="true"></span>needs its token`;
  return html`<span class="dot ${isConnected ? "good" : "bad"}" aria-hidden="true"></span
    ><span class="facts"
      ><span class="fact">${isConnected ? (isPaused ? "paused" : "live") : "not connected"}</span
      ><span class="fact kept"> · ${keptWords()}</span></span
    >`;
}

function columns(): TemplateResult {
  const { turn, isShared, isListOpen } = state;
  return html`<div
    class="columns ${isListOpen && hasList() ? "list-open" : ""} ${isShared ? "shared" : ""}"
  >
    ${isShared ? nothing : listPane()}
    <main tabindex="-1">
      ${problemLine()} ${isShared ? nothing : overviewBar()}
      ${isShared || (turn === undefined && state.pane === "turn") ? nothing : tabs()}
      ${mainPane(turn)}
    </main>
    ${
      state.pane !== "compare" && turn !== undefined
        ? guard([turn.record], () => answerPane(turn))
        : nothing
    }
  </div>`;
}

function problemLine(): TemplateResult | typeof nothing {
  const { problem } = state;
  return problem === "" ? nothing : html`<p class="problem" role="alert">${problem}</p>`;
}

function tabs(): TemplateResult {
  return html`<div class="tabs" role="group" aria-label="Views">
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
  </div>`;
}

function mainPane(turn: LoadedTurn | undefined): TemplateResult {
  switch (state.pane) {
    case "compare":
      return comparePane();
    case "turn":
      return turn === undefined ? noTurn() : turnView(turn);
    default:
      return state.pane satisfies never;
  }
}

/** The limits of the list, which explain why older turns are missing. */
function keptWords(): string {
  const { overview } = state;
  if (overview === undefined) return "";
  const { turns, bytes, seconds } = overview.keeps;
  const hours = seconds / 3600;
  const age = hours >= 1 ? `${Math.round(hours * 10) / 10} h` : `${seconds} s`;
  return `keeps ${toCount(turns)} turns, ${toCount(Math.round(bytes / 2 ** 20))} MB, ${age}, in memory only`;
}

/** The view without a turn: the list or the selected turn is loading, or there is none. */
function noTurn(): TemplateResult {
  const { overview, rows, selected } = state;
  if (overview !== undefined && rows.length === 0) return empty();
  const isComing = overview === undefined || selected !== undefined;
  return html`<p class="quiet pad" role="status">${isComing ? "Loading …" : "Select a turn."}</p>`;
}

function empty(): TemplateResult {
  const base = `${toGatewayUrl()}/v1`;
  return html`<section class="empty">
    <h2>No turns yet</h2>
    <p>Point a client at the gateway, and every turn appears here as the model saw it.</p>
    <pre>OPENAI_BASE_URL=${base} OPENAI_API_KEY=any</pre>
    ${state.hasChat ? html`<a class="primary" href="./">Open the chat</a>` : nothing}
    <p class="quiet">or press <kbd>?</kbd> for the keys</p>
  </section>`;
}

function askForToken(): TemplateResult {
  return html`<main class="token">
    <h2>Inspector</h2>
    <p>Open the address that the gateway printed when it started, or enter its token.</p>
    ${problemLine()}
    <form
      @submit=${(event: Event) => {
        event.preventDefault();
        if (!(event.target instanceof HTMLFormElement)) return;
        const token = new FormData(event.target).get("token");
        const first = typeof token === "string" ? loadWith(token) : undefined;
        if (first === undefined) return;
        update({ isRefused: false, problem: "" });
        void start(first);
      }}
    >
      <label>Token <input name="token" type="password" autocomplete="off" required /></label>
      <button type="submit" class="primary">Open</button>
    </form>
  </main>`;
}

/**
 * Milliseconds for which the list waits for the newest turn: drawing both at once takes less time than drawing them separately.
 */
const MOMENT_MS = 100;

/** @param first data that was requested earlier */
async function start(first: FirstLoad): Promise<void> {
  await attempt(async () => {
    const moment = new Promise((resolve) => setTimeout(resolve, MOMENT_MS));
    const overview = await first.overview;
    await Promise.race([first.newest.catch(() => undefined), moment]);
    const { filter, isGrouped, turn } = readAddress();
    update({ overview, rows: overview.turns.toReversed(), filter, isGrouped });
    if (turn === undefined) void attempt(() => showNewest(first));
    else openNamed(turn);
    void attempt(followEngines);
    void attempt(readKeyUses);
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

/** Moves the focus to the field for the token, or to the main element. */
function focusMain(): void {
  const target = root.querySelector(".token input") ?? root.querySelector("main");
  if (target instanceof HTMLElement) target.focus();
}

const frame = document.querySelector("#app");
const root = frame instanceof HTMLElement ? frame : document.createElement("div");
root.id = "app";
document.body.append(root);
let isDrawn = false;
onChange(() => {
  // The frame in the HTML is replaced.
  if (!isDrawn) root.replaceChildren();
  isDrawn = true;
  const hadFocus = document.activeElement !== document.body;
  render(page(), root);
  const dialog = root.querySelector("dialog");
  if (dialog !== null && !dialog.open) dialog.showModal();
  // The focused element was removed, such as the button of a run that has ended.
  if (hadFocus && document.activeElement === document.body) focusMain();
});
watchMenus();
linkParts(root);
document.addEventListener("keydown", onKey);
followAddress();
addEventListener("resize", () => update({}));
if (sharedTurn !== undefined) {
  const turn: LoadedTurn = JSON.parse(sharedTurn);
  update({ turn, selected: turn.row.number, isShared: true });
} else if (firstLoad === undefined) {
  update({ isRefused: true });
} else {
  void start(firstLoad);
}
