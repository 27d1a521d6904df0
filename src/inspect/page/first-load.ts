/**
 * Asks for the list and for the newest turn while the rest of the page is still on its way. A page with a turn embedded in
 * it asks for nothing.
 */
import { loadNewest, loadOverview, readToken } from "./api.ts";
import type { LoadedTurn, Overview } from "./types.ts";

export interface FirstLoad {
  readonly overview: Promise<Overview>;
  readonly newest: Promise<LoadedTurn | undefined>;
}

/** The JSON of a turn in a file. There is no gateway then. */
export const sharedTurn = document.querySelector("#shared-turn")?.textContent ?? undefined;

/** Undefined: there is no token to ask with, or no gateway. */
export const firstLoad = sharedTurn === undefined && readToken() !== "" ? load() : undefined;

function load(): FirstLoad {
  const overview = loadOverview();
  const newest = loadNewest();
  // Whoever awaits them sees a failure: until then it is not an unhandled one.
  for (const each of [overview, newest]) each.catch(() => undefined);
  return { overview, newest };
}
