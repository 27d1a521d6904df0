/** Asks for the models and the state of the gateway, now and then. */
import { KeyNeeded, loadStatus, problemOf } from "./gateway.ts";
import { update } from "./state.ts";

const INTERVAL_MS = 15_000;

/** Only a key changes this: to ask again would open the dialog that the reader has closed. */
let isRefused = false;

export async function refreshStatus(): Promise<void> {
  try {
    update({ status: await loadStatus(), statusProblem: "", keyProblem: undefined });
    isRefused = false;
  } catch (error) {
    const problem = problemOf(error);
    isRefused = error instanceof KeyNeeded;
    if (isRefused) update({ keyProblem: problem });
    else update({ statusProblem: problem });
  }
}

/** Repeats it while the page is visible. */
export function watchStatus(): void {
  void refreshStatus();
  setInterval(() => {
    if (!document.hidden && !isRefused) void refreshStatus();
  }, INTERVAL_MS);
}
