/** Requests the state of the engines once a second while the page is visible. */
import { request, TokenRefused } from "./first-load.ts";
import { update } from "./store.ts";
import type { EngineRow } from "./types.ts";

const EVERY_MS = 1000;

/** Never resolves. After a failed request it tries again a second later. It rejects if the token is refused: the page then asks for another. */
export async function followEngines(): Promise<never> {
  for (;;) {
    if (document.visibilityState === "visible") await askOnce();
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
  }
}

let shown = "";

async function askOnce(): Promise<void> {
  const text = await request("engines").then(
    (response) => response.text(),
    (error: unknown) => {
      if (error instanceof TokenRefused) throw error;
      return "";
    },
  );
  if (text === "" || text === shown) return;
  shown = text;
  const { engines }: { engines: readonly EngineRow[] } = JSON.parse(text);
  update({ engines });
}
