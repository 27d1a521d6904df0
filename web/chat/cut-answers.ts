/**
 * Answers whose page was closed while they were written. The tab that writes an answer holds a lock, so that other tabs do not
 * mark it as cut; the browser releases the lock with the tab.
 */
import { replace } from "./conversation.ts";
import { changeChat, findChat, state } from "./state.ts";
import { refresh } from "./storage.ts";
import { store } from "./store-chat.ts";

/** @param id id of the answer */
export async function whileWriting(id: string, work: () => Promise<void>): Promise<void> {
  // Browsers have locks for pages from HTTPS and from this machine only.
  if ("locks" in navigator) await navigator.locks.request(`harmony-gateway ${id}`, work);
  else await work();
}

/** Marks cut answers, when no other tab writes them. */
export function markCut(): void {
  for (const { id: chatId, messages } of state.conversations) {
    for (const { id, ...message } of messages) {
      if (message.role === "assistant" && message.status === "running") {
        void whileWriting(id, () => settle(chatId, id));
      }
    }
  }
}

/** Loads the other tab's stored answer, or marks it as cut. */
async function settle(chatId: string, id: string): Promise<void> {
  const chat = findChat(chatId);
  if (chat === undefined) return;
  const { messages } = await refresh(chat);
  const answer = messages.find((message) => message.id === id);
  if (answer?.role !== "assistant") return;
  const isCut = answer.status === "running";
  const settled = isCut ? { ...answer, status: "cut" as const } : answer;
  changeChat(chatId, (now) => replace(now, settled));
  if (isCut) await store(chatId);
}
