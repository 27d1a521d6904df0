/** Keeps the current conversation among those of this device. */
import { beyondLimits, DROPPED } from "./limits.ts";
import { state, update } from "./state.ts";
import { save } from "./storage.ts";

export async function store(): Promise<void> {
  const { current } = state;
  if (current.messages.length === 0) return;
  const others = state.conversations.filter(({ id }) => id !== current.id);
  const all = [current, ...others].toSorted((a, b) => b.updated - a.updated);
  const dropped = new Set(beyondLimits(all));
  update({ conversations: all.filter((each) => !dropped.has(each)) });
  const problem = (await save(current, dropped)) ?? (dropped.size > 0 ? DROPPED : undefined);
  if (problem !== undefined) update({ notice: problem });
}
