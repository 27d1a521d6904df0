/** Requests to the gateway. */
import { saveFile } from "../shared/save-file.ts";
import { request, TokenRefused } from "./first-load.ts";
import { addNews } from "./merge-news.ts";
import type { Difference, KeyUses, LoadedTurn, News, Row } from "./types.ts";

/** @param known known part of a running turn, to which only new parts are added. */
export async function loadTurn(number: number, known?: LoadedTurn): Promise<LoadedTurn> {
  const since = known?.row.number === number ? known.seen : undefined;
  const query = since === undefined ? "" : `?since=${encodeURIComponent(JSON.stringify(since))}`;
  const turn: LoadedTurn = await (await request(`turns/${number}${query}`)).json();
  return known !== undefined && since !== undefined ? addNews(known, turn) : turn;
}

export async function clearTurns(): Promise<void> {
  await request("turns", { method: "DELETE" });
}

/** Undefined: the gateway writes no audit file. */
export async function loadKeyUses(): Promise<KeyUses | undefined> {
  const { uses }: { uses?: KeyUses } = await (await request("keys")).json();
  return uses;
}

/** Saves a turn as a page that works without the gateway, or as JSON for `harmony-gateway replay`. */
export async function saveTurn(row: Row, as: "html" | "json"): Promise<void> {
  const response = await request(`turns/${row.number}/file?as=${as}`);
  const name = `turn-${row.id.replaceAll(/[^\w-]/g, "-").slice(0, 60)}`;
  saveFile(`${name}.${as}`, await response.blob());
}

/** Makes the gateway write a turn into its folder for captures. Resolves with the file's path. */
export async function captureTurn({ number }: Row): Promise<string> {
  const response = await request(`turns/${number}/capture`, { method: "POST" });
  const { path }: { path: string } = await response.json();
  return path;
}

export async function pinTurn({ number, isPinned }: Row): Promise<void> {
  await request(`turns/${number}/pin`, { method: isPinned ? "DELETE" : "POST" });
}

/** Runs a turn again. Resolves when the run, which is another turn, has ended. */
export async function runTurn({ number }: Row, signal: AbortSignal): Promise<void> {
  await request(`turns/${number}/again`, { method: "POST", signal });
}

export async function loadDifference(before: number, after: number): Promise<Difference | null> {
  const response = await request(`turns/${before}/difference/${after}`);
  const { difference }: { difference: Difference | null } = await response.json();
  return difference;
}

/** Calls back for turns that begin, change, end or are dropped. Reconnects when the gateway is back. */
export async function followChanges(
  onNews: (news: News) => void,
  onState: (isConnected: boolean) => void,
): Promise<never> {
  for (;;) {
    try {
      const response = await request("changes");
      onState(true);
      await readEvents(response, onNews);
    } catch (error) {
      if (error instanceof TokenRefused) throw error;
    }
    onState(false);
    await new Promise((resolve) => setTimeout(resolve, 2000));
  }
}

async function readEvents(response: Response, onNews: (news: News) => void): Promise<void> {
  if (response.body === null) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += value;
    const events = text.split("\n\n");
    text = events.pop() ?? "";
    for (const event of events) {
      if (event.startsWith("data: ")) onNews(JSON.parse(event.slice("data: ".length)));
    }
  }
}
