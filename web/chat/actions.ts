/** What the reader does with conversations and messages. */
import type { ApiName } from "../../src/snippets/composed.ts";
import {
  type Answer,
  canContinue,
  choose,
  type Conversation,
  type Message,
  newConversation,
  replace,
  siblingsOf,
  toPath,
} from "./conversation.ts";
import { problemOf } from "./gateway.ts";
import { later } from "./late-parts.ts";
import { change, NOTHING_WRITTEN, state, update, type Writing } from "./state.ts";
import { remove } from "./storage.ts";
import { store } from "./store-current.ts";

/** The run that changes the current conversation. */
let run: Promise<void> = Promise.resolve();

type Later = typeof import("./later.ts");
type Work = (sending: Later, signal: AbortSignal) => Promise<void>;

function start(work: Work): void {
  const running = new AbortController();
  update({ running });
  run = runWith(work, running);
}

async function runWith(work: Work, running: AbortController): Promise<void> {
  try {
    const loaded = await later.load();
    if (loaded.canSend()) await work(loaded, running.signal);
  } catch (error) {
    update({ notice: problemOf(error) });
  }
  if (state.running === running) update({ running: undefined });
  await store();
}

export function stop(): void {
  state.running?.abort();
}

export function send(): void {
  const text = state.draft.trim();
  const { files } = state;
  if (state.running !== undefined) return stop();
  if (text === "" && files.length === 0) return;
  const { editing, current } = state;
  const edited = current.messages.find(({ id }) => id === editing);
  const parent = edited ? edited.parent : (toPath(current).at(-1)?.id ?? null);
  start(({ ask }, signal) => {
    // Not before: without the gateway nothing is loaded, and the message stays where it was written.
    update({ ...NOTHING_WRITTEN, ...state.earlier, notice: "" });
    return ask({ text, files }, parent, signal);
  });
}

export function edit(message: Message): void {
  if (message.role !== "user") return;
  const { draft, files, editing } = state;
  if (editing === undefined) update({ earlier: { draft, files } });
  update({ editing: message.id, draft: message.text, files: message.files ?? [] });
  requestAnimationFrame(() => focusOn("#message"));
}

export function cancelEdit(): void {
  update({ ...NOTHING_WRITTEN, ...state.earlier });
  focusOn("#message");
}

export function editLast(): void {
  const last = toPath(state.current).findLast(({ role }) => role === "user");
  if (last !== undefined && state.running === undefined) edit(last);
}

/** Beside the answer that is shown, by the same API or another. */
export function regenerate(old: Answer, api: ApiName): void {
  const question = state.current.messages.find(({ id }) => id === old.parent);
  if (question === undefined || state.running !== undefined) return;
  start(({ answer }, signal) => answer(question, api, signal));
}

/** Shows the sibling before or after a message. */
export function step(message: Message, by: 1 | -1): void {
  const siblings = siblingsOf(state.current, message);
  const next = siblings[siblings.findIndex(({ id }) => id === message.id) + by];
  if (next === undefined || state.running !== undefined) return;
  update({ current: choose(state.current, next), exchanges: [] });
  void store();
}

/** Gives a call its result. With the last one the model continues. */
export function answerCall(from: Answer, id: string, result: string, isAlways: boolean): void {
  if (state.running !== undefined) return;
  const call = from.parts.find((part) => part.type === "call" && part.id === id);
  const parts = from.parts.map((part) =>
    part.type === "call" && part.id === id ? { ...part, result } : part,
  );
  const answered = { ...from, parts };
  update({ current: replace(state.current, answered) });
  if (isAlways && call?.type === "call") {
    change({ results: { ...state.current.results, [call.name]: result } });
  }
  void store();
  if (canContinue(answered)) proceedWith(answered);
}

/** Sends the results of its calls. */
export function proceedWith(answer: Answer): void {
  if (state.running === undefined) start(({ proceed }, signal) => proceed(answer, signal));
}

export function forgetResult(name: string): void {
  const results = Object.entries(state.current.results).filter(([each]) => each !== name);
  change({ results: Object.fromEntries(results) });
}

/** The messages that the reader was writing, by the chats that were left. */
const writings = new Map<string, Writing>();
/** A chat that was left before its first message was sent. */
let unsent: Conversation | undefined;

async function leave(): Promise<void> {
  stop();
  await run;
  // A setting was changed after the last message.
  if (!state.conversations.includes(state.current)) await store();
}

/** Opens a new chat: the one with a message that was not sent, if the reader has left it for another. */
export async function startNew(): Promise<void> {
  await leave();
  const { current } = state;
  const next = current.messages.length > 0 ? unsent : undefined;
  unsent = undefined;
  show(next ?? newConversation(current));
}

export async function select(conversation: Conversation): Promise<void> {
  await leave();
  const { current, draft, files, conversations } = state;
  if (current.messages.length === 0 && (draft !== "" || files.length > 0)) unsent = current;
  // Leaving it may have changed it.
  show(conversations.find(({ id }) => id === conversation.id) ?? conversation);
}

function show(current: Conversation): void {
  const { draft, files, editing, earlier } = state;
  writings.set(state.current.id, { draft, files, editing, earlier });
  update({
    current,
    ...NOTHING_WRITTEN,
    ...writings.get(current.id),
    exchanges: [],
    notice: "",
    erased: undefined,
    isListOpen: false,
  });
  requestAnimationFrame(() => focusOn("#message"));
}

/** Deletes a conversation, which can be brought back until something else is done. */
export async function erase(conversation: Conversation): Promise<void> {
  const { id } = conversation;
  await leave();
  await remove(id);
  update({ conversations: state.conversations.filter((each) => each.id !== id) });
  if (state.current.id === id) show(newConversation(state.current));
  update({ erased: conversation });
}

/** Shows a conversation, and keeps it. */
export async function restore(conversation: Conversation): Promise<void> {
  await select(conversation);
  await store();
}

export function focusOn(selector: string): void {
  const element = document.querySelector(selector);
  if (element instanceof HTMLElement) element.focus();
}
