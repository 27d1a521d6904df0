/** Asks for the models and the state of the gateway, now and then. */
import { KeyNeeded, loadStatus } from "./gateway.ts";
import { state, update } from "./state.ts";

const INTERVAL_MS = 15_000;

export async function refreshStatus(): Promise<void> {
  try {
    update({ status: await loadStatus(), statusProblem: "", keyProblem: undefined });
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    if (error instanceof KeyNeeded) update({ keyProblem: problem });
    else update({ statusProblem: problem });
  }
}

/** Repeats it while the page is visible. */
export function watchStatus(): void {
  void refreshStatus();
  setInterval(() => {
    if (!document.hidden && state.keyProblem === undefined) void refreshStatus();
  }, INTERVAL_MS);
}
