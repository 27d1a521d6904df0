/** The state of the page, and its changes. */
import type { LoadedTurn, Overview, Row } from "./types.ts";

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
  filter: string;
  outcome: string;
  isHelpOpen: boolean;
  isConnected: boolean;
  isRefused: boolean;
  problem: string;
  /** What has been done, such as the name of a file. */
  notice: string;
  /** The page is a file with one turn in it. */
  isShared: boolean;
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
  filter: "",
  outcome: "",
  isHelpOpen: false,
  isConnected: true,
  isRefused: false,
  problem: "",
  notice: "",
  isShared: false,
  isListOpen: true,
};

let draw: () => void = () => undefined;
/** The frame that will draw what has changed. */
let frame: number | undefined;

/** @param redraw called once per frame after changes. */
export function onChange(redraw: () => void): void {
  draw = redraw;
}

export function update(changes: Partial<State>): void {
  Object.assign(state, changes);
  frame ??= requestAnimationFrame(drawNow);
}

/** Draws what has changed without waiting for the next frame. */
export function drawNow(): void {
  if (frame === undefined) return;
  cancelAnimationFrame(frame);
  frame = undefined;
  draw();
}

/** Rows that pass the filter. */
export function visibleRows(): readonly Row[] {
  const words = state.filter.toLowerCase().split(/\s+/).filter(Boolean);
  return state.rows.filter((row) => {
    if (state.outcome !== "" && !hasMark(row, state.outcome)) return false;
    if (words.length === 0) return true;
    const text = [row.words, row.model, row.id, row.api, row.outcome, row.tenant, ...row.calls]
      .concat(row.repairs, row.steered)
      .join(" ")
      .toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

function hasMark(row: Row, mark: string): boolean {
  switch (mark) {
    case "steered":
      return row.steered.length > 0;
    case "repaired":
      return row.repairs.length > 0;
    case "lost":
      return row.reasoningFrom === "lost";
    case "tools":
      return row.calls.length > 0;
    case "failed":
      return ["failed", "error", "refused", "length", "cancelled"].includes(row.outcome);
    default:
      return true;
  }
}
