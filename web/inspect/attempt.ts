/** Runs work whose failure is shown on the page. */
import { TokenRefused } from "./first-load.ts";
import { update } from "./store.ts";

/** Shows the error instead of throwing it. */
export async function attempt(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    update({ problem, ...(error instanceof TokenRefused && { isRefused: true }) });
  }
}
