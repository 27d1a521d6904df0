/** The reader's actions on conversations and messages. */
import type { ApiName } from "../../src/snippets/composed.ts";
import {
  type Answer,
  canContinue,
  choose,
  type Conversation,
  type Message,
  replace,
  siblingsOf,
  toPath,
} from "./conversation.ts";
import { problemOf } from "./gateway.ts";
import { later } from "./late-parts.ts";
import {
  change,
  changeChat,
  findChat,
  isRunning,
  newChat,
  NOTHING_WRITTEN,
  type State,
  state,
  update,
  type Writing,
} from "./state.ts";
import { remove } from "./storage.ts";
import { store } from "./store-chat.ts";

type Later = typeof import("./later.ts");
type Work = (later: Later, signal: AbortSignal) => Promise<void>;

/** Maximum concurrent answers. A browser opens six connections to a gateway, and the page needs some for other requests. */
const MAX_RUNS = 4;

/** Begins work on the current chat, which continues when the reader opens another one. */
function start(work: Work): void {
  const { id } = state.current;
  if (state.runs.size >= MAX_RUNS) {
    return update({
      notice: `${MAX_RUNS} answers are being written. Wait for one of them, or stop it.`,
    });
  }
  const controller = new AbortController();
  const ended = runWith(id, work, controller.signal);
  update({ runs: new Map(state.runs).set(id, { stop: () => controller.abort(), ended }) });
}

async function runWith(id: string, work: Work, signal: AbortSignal): Promise<void> {
  try {
    const loaded = await later.load();
    if (loaded.canSend(id)) await work(loaded, signal);
  } catch (error) {
    update({ notice: problemOf(error) });
  }
  update({ runs: new Map([...state.runs].filter(([each]) => each !== id)) });
  await store(id);
}

export function stop(): void {
  state.runs.get(state.current.id)?.stop();
}

export function send(): void {
  const text = state.draft.trim();
  const { files } = state;
  if (isRunning()) return stop();
  if (text === "" && files.length === 0) return;
  const { editing, current } = state;
  const edited = current.messages.find(({ id }) => id === editing);
  const parent = edited ? edited.parent : (toPath(current).at(-1)?.id ?? null);
  start(({ ask }, signal) => {
    // The field is cleared only now: without the gateway nothing is loaded, and the message must stay in it.
    update({ ...NOTHING_WRITTEN, ...state.earlier, notice: "" });
    return ask(current.id, { text, files, parent }, signal);
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
  if (last !== undefined && !isRunning()) edit(last);
}

/** Writes another answer beside the shown one, by any API. */
export function regenerate(old: Answer, api: ApiName): void {
  const question = state.current.messages.find(({ id }) => id === old.parent);
  if (question === undefined || isRunning()) return;
  const { id } = state.current;
  start(({ answer }, signal) => answer(id, question, { api, signal }));
}

/** Shows the sibling before or after a message. */
export function step(message: Message, by: 1 | -1): void {
  const siblings = siblingsOf(state.current, message);
  const next = siblings[siblings.findIndex(({ id }) => id === message.id) + by];
  if (next === undefined || isRunning()) return;
  update({ current: choose(state.current, next), exchanges: withoutExchanges(state.current.id) });
  void store();
}

/** Sets the result of a call. After the last one the model continues. */
export function answerCall(from: Answer, id: string, result: string, isAlways: boolean): void {
  if (isRunning()) return;
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

/** Sends the results of an answer's calls, or lets the model continue its text. */
export function proceedWith(answer: Answer): void {
  const { id } = state.current;
  if (!isRunning()) start(({ proceed }, signal) => proceed(id, answer, signal));
}

export function forgetResult(name: string): void {
  const results = Object.entries(state.current.results).filter(([each]) => each !== name);
  change({ results: Object.fromEntries(results) });
}

const MAX_TITLE = 200;
/** Unsent messages, by the chats that were left. */
const writings = new Map<string, Writing>();
/** A chat that was left before its first message was sent. */
let unsent: Conversation | undefined;

/** Keeps the state of the chat that is left. Its answer continues. */
function leave(): void {
  // A setting was changed after the last message.
  if (!state.conversations.includes(state.current)) void store();
}

/** Opens a new chat, or an earlier one with a message that was not sent. */
export function startNew(): void {
  leave();
  const { current } = state;
  const next = current.messages.length > 0 ? unsent : undefined;
  unsent = undefined;
  show(next ?? newChat(current));
}

export function select(conversation: Conversation): void {
  leave();
  const { current, draft, files, conversations } = state;
  if (current.messages.length === 0 && (draft !== "" || files.length > 0)) unsent = current;
  // Leaving the current chat may have changed this one.
  show(conversations.find(({ id }) => id === conversation.id) ?? conversation);
}

function show(current: Conversation): void {
  const { draft, files, editing, earlier } = state;
  const left = state.current.id;
  writings.set(left, { draft, files, editing, earlier });
  update({
    current,
    ...NOTHING_WRITTEN,
    ...writings.get(current.id),
    ...(!isRunning(left) && { exchanges: withoutExchanges(left) }),
    notice: "",
    erased: undefined,
    renaming: undefined,
    isListOpen: false,
  });
  requestAnimationFrame(() => focusOn("#message"));
}

function withoutExchanges(id: string): State["exchanges"] {
  return new Map([...state.exchanges].filter(([each]) => each !== id));
}

/** Gives a chat another title. An empty one has no effect. */
export function rename({ id }: Conversation, given: string): void {
  const title = given.trim().slice(0, MAX_TITLE);
  update({ renaming: undefined });
  if (title === "") return;
  changeChat(id, (chat) => ({ ...chat, title }));
  void store(id);
}

export function pin({ id, isPinned = false }: Conversation): void {
  changeChat(id, (chat) => ({ ...chat, isPinned: !isPinned }));
  void store(id);
}

/** Deletes a conversation, which can be restored until the next action. */
export async function erase({ id }: Conversation): Promise<void> {
  const run = state.runs.get(id);
  run?.stop();
  await run?.ended;
  leave();
  const erased = findChat(id);
  await remove(id);
  update({ conversations: state.conversations.filter((each) => each.id !== id) });
  if (state.current.id === id) show(newChat(state.current));
  update({ erased });
}

/** Shows a conversation, and stores it. */
export async function restore(conversation: Conversation): Promise<void> {
  select(conversation);
  await store();
}

export function focusOn(selector: string): void {
  const element = document.querySelector(selector);
  if (element instanceof HTMLElement) element.focus();
}
