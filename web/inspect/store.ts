/** The state of the page, and its changes. */
import { drawSoon } from "../shared/redraw.ts";
import { matches, parseFilter } from "./filter.ts";
import { toConversations } from "./totals.ts";
import type { EngineRow, KeyUses, LoadedTurn, Overview, Row } from "./types.ts";

export type TokenView = "reading" | "tokens" | "raw";
export type Pane = "turn" | "compare";

export interface State {
  overview: Overview | undefined;
  /** Rows, newest first. */
  rows: readonly Row[];
  selected: number | undefined;
  turn: LoadedTurn | undefined;
  /** The turn for comparison. */
  other: LoadedTurn | undefined;
  pane: Pane;
  view: TokenView;
  /** Number of shown characters of long texts, if more than their beginning. */
  opened: ReadonlyMap<string, number>;
  /** The filter as typed by the reader. */
  filter: string;
  isGrouped: boolean;
  /** New turns are held back. */
  isPaused: boolean;
  /** The rows of the list after it is resumed. */
  waiting: readonly Row[];
  engines: readonly EngineRow[];
  /** Sums from the audit file, as last read. Undefined: there is no file. */
  keyUses: KeyUses | undefined;
  /** The current run and the number of runs, while a turn is run again. */
  runs:
    | { readonly at: number; readonly times: number; readonly abort: AbortController }
    | undefined;
  isHelpOpen: boolean;
  isConnected: boolean;
  isRefused: boolean;
  problem: string;
  /** The result of an action, such as the name of a file. */
  notice: string;
  /** The page is a file with one turn in it. */
  isShared: boolean;
  /** The page links to the chat. */
  readonly hasChat: boolean;
  /** On a narrow screen: whether the list is shown. */
  isListOpen: boolean;
}

export const state: State = {
  overview: undefined,
  rows: [],
  selected: undefined,
  turn: undefined,
  other: undefined,
  pane: "turn",
  view: "reading",
  opened: new Map(),
  filter: "",
  isGrouped: false,
  isPaused: false,
  waiting: [],
  engines: [],
  keyUses: undefined,
  runs: undefined,
  isHelpOpen: false,
  isConnected: true,
  isRefused: false,
  problem: "",
  notice: "",
  isShared: false,
  hasChat: document.body.dataset["chat"] === "on",
  isListOpen: true,
};

export function update(changes: Partial<State>): void {
  Object.assign(state, changes);
  drawSoon();
}

/** Rows that pass the filter: an identical array until the rows or the filter change. */
export function visibleRows(): readonly Row[] {
  const { rows, filter: text } = state;
  if (visible?.rows === rows && visible.text === text) return visible.found;
  const filter = parseFilter(text);
  const now = Date.now();
  const found = rows.filter((row) => matches(row, filter, now));
  // With `since:`, the result also depends on the time.
  visible = filter.since === undefined ? { rows, text, found } : undefined;
  return found;
}

let visible: { rows: readonly Row[]; text: string; found: readonly Row[] } | undefined;

/** The visible rows in the order of the list. */
export function listedRows(): readonly Row[] {
  const rows = visibleRows();
  return state.isGrouped ? toConversations(rows).flat() : rows;
}
