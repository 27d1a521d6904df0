/** Stores conversations on this device. */
import { beyondLimits, DROPPED } from "./limits.ts";
import { findChat, isRunning, state, update } from "./state.ts";
import { save } from "./storage.ts";

/** Pause between two writes of a running answer. A closed page may lose as much of it. */
const PAUSE_MS = 500;
const MAX_PAUSE_MS = 10_000;
/** Minimum pause between two writes, as a multiple of the time of a write: a write with large files takes long. */
const SHARE = 20;

/** The last shown sentence about storage. */
let shown: string | undefined;

export async function store(id = state.current.id): Promise<void> {
  const chat = findChat(id);
  if (chat === undefined || chat.messages.length === 0) return;
  const others = state.conversations.filter((each) => each.id !== id);
  const all = [chat, ...others].toSorted((a, b) => b.updated - a.updated);
  const isUsed = (each: { readonly id: string }) =>
    each.id === id || each.id === state.current.id || isRunning(each.id);
  const dropped = new Set(beyondLimits(all, isUsed));
  update({ conversations: all.filter((each) => !dropped.has(each)) });
  const problem = await save(chat, dropped);
  if (problem !== shown && problem !== undefined) update({ notice: problem });
  else if (dropped.size > 0) update({ notice: DROPPED });
  shown = problem;
}

const waiting = new Set<string>();
let pause = PAUSE_MS;

/** Stores a chat after a pause, once for all changes in it. */
export function storeSoon(id: string): void {
  if (waiting.has(id)) return;
  waiting.add(id);
  setTimeout(() => void storeWaiting(id), pause);
}

async function storeWaiting(id: string): Promise<void> {
  waiting.delete(id);
  // The end of the answer was stored already.
  if (!isRunning(id)) return;
  const began = performance.now();
  await store(id);
  pause = Math.min(MAX_PAUSE_MS, Math.max(PAUSE_MS, SHARE * (performance.now() - began)));
}

/** Stores running answers before the page closes. */
export function storeRunning(): void {
  for (const id of state.runs.keys()) void store(id);
}
