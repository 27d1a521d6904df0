/** The URL of the page contains the filter and the selected turn, so that Back works and a link can be shared. */
import { fromParameters, toParameters } from "./filter.ts";
import { plain } from "./format.ts";
import { select } from "./selection.ts";
import { state, update } from "./store.ts";

/** The filter and the request id in the URL. */
export function readAddress(): { filter: string; isGrouped: boolean; turn: string | undefined } {
  const query = new URLSearchParams(location.search);
  return {
    filter: fromParameters(query),
    isGrouped: query.get("group") === "conversation",
    turn: query.get("turn") ?? undefined,
  };
}

/** @param isNew whether Back leads to the previous state; false while the reader types */
export function writeAddress(isNew: boolean): void {
  if (state.isShared) return;
  const query = toParameters(state.filter);
  if (state.isGrouped) query.set("group", "conversation");
  const row = state.rows.find(({ number }) => number === state.selected);
  if (row !== undefined) query.set("turn", row.id);
  const text = query.toString();
  const address = text === "" ? location.pathname : `${location.pathname}?${text}`;
  if (address === `${location.pathname}${location.search}`) return;
  if (isNew) history.pushState(null, "", address);
  else history.replaceState(null, "", address);
}

/** Shows a turn, and writes it into the URL. */
export function openTurn(number: number): void {
  select(number);
  writeAddress(true);
}

/** Shows the turn with a request id, or a message that there is none: another turn in its place could be mistaken for it. */
export function openNamed(id: string): void {
  const row = state.rows.find((each) => each.id === id);
  if (row === undefined) {
    const problem = `The turn ${plain(id)} is not kept.`;
    update({ selected: undefined, turn: undefined, isListOpen: false, problem });
  } else if (row.number !== state.selected) {
    select(row.number);
  }
}

/** Shows the turn in the URL, after Back and Forward. */
export function followAddress(): void {
  addEventListener("popstate", () => {
    const { filter, isGrouped, turn } = readAddress();
    update({ filter, isGrouped });
    if (turn !== undefined) openNamed(turn);
  });
}
