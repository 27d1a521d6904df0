/** Loads the parts of the page that typing does not need. */
import { update } from "./state.ts";

type Later = typeof import("./later.ts");

/** Undefined: not loaded yet. */
export let later: Later | undefined;

export async function loadLater(): Promise<Later> {
  if (later === undefined) {
    later = await import("./later.ts");
    update({});
  }
  return later;
}
