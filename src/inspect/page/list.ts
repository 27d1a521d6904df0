/** The list of recent turns. */
import { html, nothing, type TemplateResult } from "lit-html";
import { clearTurns } from "./api.ts";
import { loadOverview } from "./first-load.ts";
import { toCount, toMs, toOutcome, toTime } from "./format.ts";
import { state, update, visibleRows } from "./store.ts";
import type { Row } from "./types.ts";
import { fixedRows, onListScroll } from "./windowed.ts";

/** Height in pixels, the same as in the style sheet. */
export const ROW_HEIGHT = 68;

const MARKS: readonly (readonly [string, string])[] = [
  ["", "all"],
  ["failed", "failed"],
  ["steered", "steered"],
  ["repaired", "repaired"],
  ["tools", "with calls"],
  ["lost", "reasoning lost"],
];

export function listPane(select: (number: number) => void): TemplateResult {
  const rows = visibleRows();
  return html`<nav class="list" aria-label="Turns">
    <div class="filters">
      <input
        type="search"
        id="filter"
        placeholder="Filter ( / )"
        aria-label="Filter turns by words"
        .value=${state.filter}
        @input=${(event: Event) => {
          if (event.target instanceof HTMLInputElement) update({ filter: event.target.value });
        }}
      />
      <select
        aria-label="Filter turns by outcome"
        @change=${(event: Event) => {
          if (event.target instanceof HTMLSelectElement) update({ outcome: event.target.value });
        }}
      >
        ${MARKS.map(([value, label]) => html`<option value=${value}>${label}</option>`)}
      </select>
    </div>
    <div
      class="list-box"
      tabindex="0"
      role="region"
      aria-label="List of turns"
      @scroll=${onListScroll}
    >
      <div role="list">${fixedRows(rows, ROW_HEIGHT, (row) => rowItem(row, select))}</div>
      ${
        rows.length === 0 && state.rows.length > 0
          ? html`<p class="quiet pad">No turn matches.</p>`
          : nothing
      }
    </div>
    <footer class="list-foot">
      <span>${toCount(rows.length)} ${rows.length === 1 ? "turn" : "turns"}</span>
      <button type="button" class="plain" @click=${clear}>Clear</button>
    </footer>
  </nav>`;
}

async function clear(): Promise<void> {
  await clearTurns();
  const overview = await loadOverview();
  update({ rows: overview.turns.toReversed(), turn: undefined, selected: undefined });
}

function rowItem(row: Row, select: (number: number) => void): TemplateResult {
  const { word, tone } = toOutcome(row);
  const isSelected = row.number === state.selected;
  return html`<div role="listitem" class="row-item">
    <button
      type="button"
      class="row ${isSelected ? "selected" : ""}"
      aria-current=${isSelected ? "true" : "false"}
      @click=${() => select(row.number)}
    >
      <span class="row-top">
        <span class="dot ${tone}" aria-hidden="true"></span>
        <span class="word">${word}</span>
        ${marks(row)}
        <span class="when">${toTime(row.at)}</span>
      </span>
      <span class="row-words">${row.words || row.id}</span>
      <span class="row-facts">
        ${row.model.replace(/^openai\//, "")} · ${toCount(row.promptTokens)} →
        ${toCount(row.completionTokens)} · ${toMs(row.firstTokenMs)}
      </span>
    </button>
  </div>`;
}

function marks({ steered, repairs, reasoningFrom, calls }: Row): TemplateResult {
  return html`
    ${steered.length > 0 ? mark("steered", steered.join(", ")) : nothing}
    ${repairs.length > 0 ? mark("repaired", repairs.join(", ")) : nothing}
    ${reasoningFrom === "lost" ? mark("reasoning lost", "its client did not send it back") : nothing}
    ${calls.length > 0 ? mark("⚙", `called ${calls.join(", ")}`) : nothing}
  `;
}

function mark(label: string, title: string): TemplateResult {
  return html`<span class="mark" title=${title}>${label}</span>`;
}
