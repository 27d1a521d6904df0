/** Requests the models and the state of the gateway periodically. */
import { KeyNeeded, loadStatus, problemOf } from "./gateway.ts";
import { state, update } from "./state.ts";

const INTERVAL_MS = 15_000;

export async function refreshStatus(): Promise<void> {
  try {
    const status = await loadStatus();
    update({ status, statusProblem: "", keyProblem: undefined, isRefused: false });
  } catch (error) {
    const problem = problemOf(error);
    if (error instanceof KeyNeeded) update({ keyProblem: problem, isRefused: true });
    else update({ statusProblem: problem, isRefused: false });
  }
}

/** Repeats the request while the page is visible. */
export function watchStatus(): void {
  void refreshStatus();
  setInterval(() => {
    // Only a new key changes a refusal: another request would open the dialog that the reader has closed.
    if (!document.hidden && !state.isRefused) void refreshStatus();
  }, INTERVAL_MS);
}
