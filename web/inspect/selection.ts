/** The selected turn: its choice, its loading while it runs, and news of the list. */
import { loadKeyUses, loadTurn } from "./api.ts";
import { loadOverview } from "./first-load.ts";
import { attempt } from "./attempt.ts";
import { listedRows, state, update } from "./store.ts";
import type { LoadedTurn, News, Row } from "./types.ts";
import { keepInPlace, revealRow, rowAtTop } from "./windowed.ts";

export function select(number: number): void {
  update({
    selected: number,
    problem: "",
    notice: "",
    isListOpen: false,
    pane: state.pane === "compare" ? "turn" : state.pane,
  });
  void attempt(() => refresh(number));
}

/** Minimum interval between requests for a running turn, in milliseconds; large turns are requested less often. */
const REFRESH_MS = 400;
let nextRefresh: ReturnType<typeof setTimeout> | undefined;

async function refresh(number: number): Promise<void> {
  clearTimeout(nextRefresh);
  const started = performance.now();
  const turn = await loadTurn(number, state.turn);
  if (state.selected === number) show(turn, performance.now() - started);
}

/** @param cost time of loading in milliseconds */
export function show(turn: LoadedTurn, cost: number): void {
  update({ turn });
  if (turn.row.isComplete) return;
  nextRefresh = setTimeout(
    () => void attempt(() => refresh(turn.row.number)),
    Math.max(REFRESH_MS, cost * 10),
  );
}

export function pickOther(number: number): void {
  if (number === 0) return update({ other: undefined });
  void attempt(async () => update({ other: await loadTurn(number) }));
}

/** Shows the selected turn beside another one. */
export function openComparison(number: number): void {
  update({ pane: "compare", other: undefined });
  pickOther(number);
}

export async function readKeyUses(): Promise<void> {
  update({ keyUses: await loadKeyUses() });
}

/** Merges news: new rows come first, known ones are replaced, and dropped ones are removed. */
export function merge(news: News): void {
  if ("isBehind" in news) return void attempt(loadRows);
  const rows = new Map(
    (state.isPaused ? state.waiting : state.rows).map((row) => [row.number, row]),
  );
  for (const row of news.rows) rows.set(row.number, row);
  for (const number of news.dropped) rows.delete(number);
  put([...rows.values()].toSorted((a, b) => b.number - a.number));
  seeOwn(news.rows);
}

/** Loads the whole list: after a time without connection, dropped turns are unknown. */
export async function loadRows(): Promise<void> {
  const { turns } = await loadOverview();
  put(turns.toReversed());
  seeOwn(turns);
}

function put(rows: readonly Row[]): void {
  if (state.isPaused) return update({ waiting: rows });
  const top = rowAtTop();
  if (top === 0) return update({ rows });
  const seen = listedRows()[top]?.number;
  update({ rows });
  const now = listedRows().findIndex(({ number }) => number === seen);
  if (now >= 0) keepInPlace(now - top);
}

function seeOwn(changed: readonly Row[]): void {
  const own = changed.find(({ number }) => number === state.selected);
  if (own === undefined || state.turn?.row.number !== own.number) return;
  if (own.isComplete && !state.turn.row.isComplete) select(own.number);
  else if (own.isComplete) update({ turn: { ...state.turn, row: own } });
}

export function move(by: number): void {
  const rows = listedRows();
  const at = rows.findIndex(({ number }) => number === state.selected);
  const index = at < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, at + by));
  const row = rows[index];
  if (row === undefined) return;
  revealRow(index);
  select(row.number);
}
