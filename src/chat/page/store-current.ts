/** Keeps the current conversation among those of this device. */
import { state, update } from "./state.ts";
import { beyondLimits, save } from "./storage.ts";

export async function store(): Promise<void> {
  const { current } = state;
  const others = state.conversations.filter(({ id }) => id !== current.id);
  const all = [current, ...others].toSorted((a, b) => b.updated - a.updated);
  const dropped = new Set(beyondLimits(all));
  update({ conversations: all.filter((each) => !dropped.has(each)) });
  const problem = await save(current, dropped);
  if (problem !== undefined) update({ notice: problem });
}
