/** SIGTERM under load: requests that can end in time do, others get an error, and the process exits in time. */
import { setTimeout as pause } from "node:timers/promises";
import { sendHalf } from "./clients.ts";
import { onStage, type Phase, type Stage, tell } from "./phase.ts";

/** Several times the duration of the short streams alone, and less than the long ones. */
const GRACE_MS = 8_000;
/** Time for closing, on a busy machine. */
const MARGIN_MS = 3_000;

export const leavingPhase: Phase = {
  name: "sigterm",
  says: "SIGTERM in the middle of short and long streams, with half-sent heads",
  run: () =>
    onStage({ engines: 2, settings: { shutdownGraceMs: GRACE_MS } }, async (stage) => {
      const short = Array.from({ length: 20 }, () =>
        stage.ask("chat-stream", "a", "words 60 ", 60),
      );
      const long = Array.from({ length: 20 }, (_, n) =>
        stage.ask(
          (["chat-stream", "responses-stream", "socket", "chat"] as const)[n % 4] ?? "chat",
          "b",
          "words 1000 ",
          1000,
        ),
      );
      const halves = Array.from({ length: 20 }, () => sendHalf(stage.gateway.origin, "head"));
      // All have received a token, so none is refused as late.
      for (let tries = 0; tries < 400 && begunOf(stage) < 40; tries++) await pause(20);
      const ms = await stage.gateway.terminate();
      const ended = await Promise.all(short);
      const cut = await Promise.all(long);
      for (const socket of halves) socket.destroy();
      const lost = ended.filter(({ end }) => end !== "complete");
      stage.expect(lost.length === 0, `could have ended: ${tell(lost)}`);
      const complete = cut.filter(({ end }) => end === "complete");
      stage.expect(complete.length === 0, "the long ones were too short to be cut");
      stage.expect(ms < GRACE_MS + MARGIN_MS, `the process left after ${Math.round(ms)} ms`);
      stage.expect(begunOf(stage) === 40, `only ${begunOf(stage)} had begun`);
      return `gone after ${Math.round(ms)} ms, ${ended.length - lost.length} ended, ${cut.length} cut and reported`;
    }),
};

function begunOf({ engines }: Stage): number {
  return engines.reduce((sum, { begun }) => sum + begun.size, 0);
}
