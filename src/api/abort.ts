/** Aborts a turn when its client disconnects, or for a reason of the route. */
import { followSignal } from "../streams/follow-signal.ts";

/** A controller that follows the signal of a request. */
export function createAbort(request: AbortSignal): AbortController {
  const abort = new AbortController();
  followSignal(abort, request);
  return abort;
}
