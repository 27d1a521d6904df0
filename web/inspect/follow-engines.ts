/** Requests the state of the engines once a second while the page is visible. */
import { noteWritten, speedOf } from "./engine-speed.ts";
import { request, TokenRefused } from "./first-load.ts";
import { update } from "./store.ts";
import type { EngineRow } from "./types.ts";

const EVERY_MS = 1000;

/**
 * Requests the state. Never resolves. Retries a second after a failed request. Rejects if the token is refused: the page then
 * asks for another.
 */
export async function followEngines(): Promise<never> {
  for (;;) {
    if (document.visibilityState === "visible") await askOnce();
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
  }
}

let shown = "";
/** Whether no model was writing. */
let isStill = false;

async function askOnce(): Promise<void> {
  const text = await request("engines").then(
    (response) => response.text(),
    (error: unknown) => {
      if (error instanceof TokenRefused) throw error;
      return "";
    },
  );
  if (text === "") return;
  const { engines }: { engines: readonly EngineRow[] } = JSON.parse(text);
  noteWritten(engines, Date.now());
  const wasStill = isStill;
  isStill = engines.every(({ id }) => (speedOf(id)?.now ?? 0) === 0);
  if (text === shown && isStill && wasStill) return;
  shown = text;
  update({ engines });
}
