/** The state of the page, and its changes. */
import { drawSoon } from "../shared/redraw.ts";
import { matches, parseFilter } from "./filter.ts";
import { toConversations } from "./totals.ts";
import type { EngineRow, KeyUses, LoadedTurn, Overview, Row } from "./types.ts";

export type TokenView = "reading" | "tokens" | "raw";
export type Pane = "turn" | "compare";

export interface State {
  overview: Overview | undefined;
  /** Newest first. */
  rows: readonly Row[];
  selected: number | undefined;
  turn: LoadedTurn | undefined;
  /** For comparison. */
  other: LoadedTurn | undefined;
  pane: Pane;
  view: TokenView;
  /** Characters that are shown of long texts, where it is more than their beginning. */
  opened: ReadonlyMap<string, number>;
  /** As it is typed. */
  filter: string;
  isGrouped: boolean;
  /** New turns wait, and are not shown. */
  isPaused: boolean;
  /** The rows as they will be shown when the list is resumed. */
  waiting: readonly Row[];
  engines: readonly EngineRow[];
  /** From the audit file, when it was last read. Undefined: there is none. */
  keyUses: KeyUses | undefined;
  /** A turn is being run again: which of how many times. */
  runs:
    | { readonly at: number; readonly times: number; readonly abort: AbortController }
    | undefined;
  isHelpOpen: boolean;
  isConnected: boolean;
  isRefused: boolean;
  problem: string;
  /** What has been done, such as the name of a file. */
  notice: string;
  /** The page is a file with one turn in it. */
  isShared: boolean;
  /** The gateway serves the chat, which this page links to. */
  readonly hasChat: boolean;
  /** On a narrow screen: which side is shown. */
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

/** Rows that pass the filter: the same array until the rows or the filter change. */
export function visibleRows(): readonly Row[] {
  const { rows, filter: text } = state;
  if (visible?.rows === rows && visible.text === text) return visible.found;
  const filter = parseFilter(text);
  const now = Date.now();
  const found = rows.filter((row) => matches(row, filter, now));
  // With `since:`, time changes them too.
  visible = filter.since === undefined ? { rows, text, found } : undefined;
  return found;
}

let visible: { rows: readonly Row[]; text: string; found: readonly Row[] } | undefined;

/** The same in the order of the list. */
export function listedRows(): readonly Row[] {
  const rows = visibleRows();
  return state.isGrouped ? toConversations(rows).flat() : rows;
}
