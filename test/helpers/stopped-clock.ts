import { type Clock, systemClock } from "../../src/engines/clock.ts";

/** A clock that stands still, so that measurements do not depend on a busy machine. Its timers are real. */
export const STOPPED: Clock = { ...systemClock, now: () => 0 };
