/** The list of recent turns, alone or by conversation. */
import { html, nothing, type TemplateResult } from "lit-html";
import { openTurn, writeAddress } from "./address.ts";
import { clearTurns } from "./api.ts";
import { attempt } from "./attempt.ts";
import { type Field, toggleField, togglePart } from "./filter.ts";
import { chipsOf, plain, toCount, toMs, toOutcome, toTime } from "./format.ts";
import { state, update, visibleRows } from "./store.ts";
import { toConversations } from "./totals.ts";
import type { Row } from "./types.ts";
import { fixedRows, onListScroll } from "./windowed.ts";

/** Parts of the filter that the menu adds or removes. */
const CHOICES: readonly (readonly [label: string, part: string])[] = [
  ["errors", "status:error"],
  ["rejected", "status:rejected"],
  ["cut at limit", "status:cut"],
  ["slower than 5 s", ">5s"],
  ["of the last hour", "since:1h"],
  ["forced call", "is:forced"],
  ["schema enforced", "is:schema"],
  ["output repaired", "is:repaired"],
  ["reasoning missing", "is:missing"],
  ["pinned", "is:pinned"],
];

export function listPane(): TemplateResult {
  const rows = visibleRows();
  return html`<nav class="list" aria-label="Turns">
    <div class="filters">
      <input
        type="search"
        id="filter"
        placeholder="Filter ( / )"
        title="Words, and key: client: model: tool: status: is: >5s since:1h"
        aria-label="Filter turns"
        .value=${state.filter}
        @input=${(event: Event) => {
          if (event.target instanceof HTMLInputElement) setFilter(event.target.value, false);
        }}
      />
      <select
        class="pill"
        aria-label="Add to the filter"
        @change=${(event: Event) => {
          if (!(event.target instanceof HTMLSelectElement)) return;
          const [, part] = CHOICES[Number(event.target.value)] ?? [];
          if (part !== undefined) setFilter(togglePart(state.filter, part));
          event.target.value = "";
        }}
      >
        <option value="">Show …</option>
        ${CHOICES.map(([text], index) => html`<option value=${index}>${text}</option>`)}
      </select>
      <label class="group">
        <input type="checkbox" .checked=${state.isGrouped} @change=${group} /> by conversation
      </label>
    </div>
    <div
      class="list-box"
      tabindex="0"
      role="region"
      aria-label="List of turns"
      @scroll=${onListScroll}
    >
      <div role="list">
        ${fixedRows(
          state.isGrouped ? grouped(rows) : rows.map(alone),
          ({ row }) => row.number,
          rowItem,
        )}
      </div>
      ${
        rows.length === 0 && state.rows.length > 0
          ? html`<p class="quiet pad">No turn matches.</p>`
          : nothing
      }
    </div>
    <footer class="list-foot">
      <span>${toCount(rows.length)} ${rows.length === 1 ? "turn" : "turns"}</span>
      <button type="button" class="pill" aria-pressed=${state.isPaused} @click=${pause}>
        ${state.isPaused ? "Resume" : "Pause"}
      </button>
      <button
        type="button"
        class="pill"
        title="Forget all turns but pinned ones"
        @click=${() => attempt(clear)}
      >
        Clear
      </button>
    </footer>
  </nav>`;
}

/** Sets the filter's text, and writes it into the URL. */
function setFilter(filter: string, isNew = true): void {
  update({ filter });
  writeAddress(isNew);
}

export function toggle(field: Field, value: string): void {
  setFilter(toggleField(state.filter, field, value));
}

function group(): void {
  update({ isGrouped: !state.isGrouped });
  writeAddress(true);
}

function pause(): void {
  update(
    state.isPaused
      ? { isPaused: false, rows: state.waiting }
      : { isPaused: true, waiting: state.rows },
  );
}

async function clear(): Promise<void> {
  await clearTurns();
  const rows = state.rows.filter(({ isPinned, isComplete }) => isPinned || !isComplete);
  const isShown = rows.some(({ number }) => number === state.selected);
  update({ rows, ...(!isShown && { turn: undefined, selected: undefined }) });
}

/** A row, and its position in its conversation: 0 is the newest of `size` turns. */
interface Item {
  readonly row: Row;
  readonly at: number;
  readonly size: number;
}

function alone(row: Row): Item {
  return { row, at: 0, size: 1 };
}

function grouped(rows: readonly Row[]): Item[] {
  return toConversations(rows).flatMap((turns) =>
    turns.map((row, at) => ({ row, at, size: turns.length })),
  );
}

function rowItem({ row, at, size }: Item): TemplateResult {
  const { word, tone } = toOutcome(row);
  const isSelected = row.number === state.selected;
  const by = row.conversation?.by === "session" ? "by session id" : "by its beginning";
  return html`<div role="listitem" class="row-item ${at > 0 ? "follows" : ""}">
    <button
      type="button"
      class="row ${isSelected ? "selected" : ""}"
      aria-current=${isSelected ? "true" : "false"}
      @click=${() => openTurn(row.number)}
    >
      <span class="row-top">
        <span class="dot ${tone}" aria-hidden="true"></span>
        <span class="word">${word}</span>
        ${at === 0 && size > 1 ? chip(`${size} turns`, `one conversation, ${by}`) : nothing}
        ${chips(row)}
        <span class="when">${toTime(row.at)}</span>
      </span>
      <span class="row-words">${plain(row.words || row.problem || row.id)}</span>
      <span class="row-facts"><b>${whoOf(row)}</b>${factsOf(row)}</span>
    </button>
  </div>`;
}

function factsOf(row: Row): string {
  const { model, promptTokens, completionTokens, ms, firstTokenMs } = row;
  const isOnly = (state.overview?.models.length ?? 0) < 2;
  const facts = [
    isOnly ? "" : model.replace(/^openai\//, ""),
    promptTokens === null ? "" : `${toCount(promptTokens)} → ${toCount(completionTokens)}`,
    ms === null && firstTokenMs === null ? "" : toMs(ms ?? firstTokenMs),
  ];
  return facts.map((fact) => (fact === "" ? "" : ` · ${fact}`)).join("");
}

/** `alice · codex`. The only tenant of a gateway without keys is left out. */
export function whoOf({ tenant, client }: Row): string {
  const names = [tenant === "anonymous" ? "" : tenant, client ?? ""];
  return names.filter((name) => name !== "").join(" · ") || "unknown client";
}

/** The first fact by its short name, and the number of others: one line has no room for more. */
function chips(row: Row): TemplateResult | typeof nothing {
  const { calls } = row;
  const [first, ...others] = [
    ...chipsOf(row).map(({ name, label, meaning }) => ({ name, words: `${label}: ${meaning}` })),
    ...(calls.length > 0 ? [{ name: "⚙", words: `called ${calls.join(", ")}` }] : []),
  ];
  if (first === undefined) return nothing;
  const more = others.map(({ words }) => words).join("\n");
  return html`${chip(first.name, first.words)}
  ${others.length > 0 ? chip(`+${others.length}`, more) : nothing}`;
}

function chip(label: string, meaning: string): TemplateResult {
  return html`<span class="mark" title=${meaning}>${label}</span>`;
}
