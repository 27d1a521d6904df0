/** Work of which a failure is shown on the page. */
import { TokenRefused } from "./first-load.ts";
import { update } from "./store.ts";

/** Shows what went wrong instead of failing. */
export async function attempt(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (error instanceof TokenRefused) update({ isRefused: true });
    else update({ problem: error instanceof Error ? error.message : String(error) });
  }
}
