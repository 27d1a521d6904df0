import { type Clock, systemClock } from "../../src/engines/clock.ts";

/** Shows no time passing, so that whatever is measured by it does not depend on a busy machine. Its timers are real. */
export const STOPPED: Clock = { ...systemClock, now: () => 0 };
