/** Sends the conversation, and reads the answer as a stream. Calls with a fixed result are answered at once. */
import { toBody } from "../../src/snippets/bodies.ts";
import { API_PATHS, type ApiName } from "../../src/snippets/composed.ts";
import { isObject } from "../../src/snippets/read.ts";
import { lackingSentences } from "./apis.ts";
import { toComposed } from "./compose.ts";
import {
  add,
  type Answer,
  canContinue,
  type Conversation,
  isUnfinished,
  type Message,
  type MessageFile,
  newId,
  replace,
  toPath,
  toTitle,
} from "./conversation.ts";
import { whileWriting } from "./cut-answers.ts";
import { KeyNeeded, problemOf, request, toError } from "./gateway.ts";
import { readChat } from "./readers/chat.ts";
import { Draft, type ReadEvent } from "./readers/draft.ts";
import { readMessages } from "./readers/messages.ts";
import { readResponses } from "./readers/responses.ts";
import { readEvents } from "./server-events.ts";
import { changeChat, type Exchange, findChat, modelOf, showPane, state, update } from "./state.ts";
import { store, storeSoon } from "./store-chat.ts";

const READERS: Readonly<Record<ApiName, (draft: Draft) => ReadEvent>> = {
  chat: readChat,
  responses: readResponses,
  messages: readMessages,
};

/** Maximum requests of one answer without the reader. */
const MAX_LOOP = 20;
const BROKEN_OFF = "The connection was closed before the answer was complete.";
/** Maximum events for display; more would slow the page down. */
const MAX_KEPT_EVENTS = 300;

/** Whether the settings are valid for a request, so that a wrong field does not become a failed answer. Otherwise shows them. */
export function canSend(id: string): boolean {
  try {
    toComposed(chatOf(id), []);
    return true;
  } catch (error) {
    const notice = error instanceof Error ? error.message : String(error);
    update({ notice });
    showPane("options");
    return false;
  }
}

interface Asked {
  readonly text: string;
  readonly files: readonly MessageFile[];
  /** Id of the message before the answer. */
  readonly parent: string | null;
}

/** Sends a question after the last message of the path, or beside a sibling. */
export async function ask(
  chatId: string,
  { text, files, parent }: Asked,
  signal: AbortSignal,
): Promise<void> {
  const id = newId();
  const question: Message = { id, parent, role: "user", text, ...(files.length > 0 && { files }) };
  const first = text === "" ? (files[0]?.name ?? "") : text;
  changeChat(chatId, (chat) => {
    const title = chat.messages.length === 0 ? toTitle(first) : chat.title;
    return { ...add(chat, question), title };
  });
  // The question is stored now, so that closing the page during the answer does not lose it.
  void store(chatId);
  await answer(chatId, question, { api: chatOf(chatId).api, signal });
}

interface AnswerOptions {
  readonly api: ApiName;
  readonly signal: AbortSignal;
}

/** Writes an answer to a question, beside its other answers. */
export async function answer(
  chatId: string,
  question: Message,
  { api, signal }: AnswerOptions,
): Promise<void> {
  const next: Answer = {
    id: newId(),
    parent: question.id,
    role: "assistant",
    parts: [],
    api,
    model: modelOf(chatOf(chatId)),
    status: "running",
  };
  changeChat(chatId, (chat) => add(chat, next));
  update({ notice: "", erased: undefined });
  await proceed(chatId, next, signal);
}

/** Continues an answer: from its beginning, after the results of its calls, or from the point of a stop. */
export async function proceed(chatId: string, from: Answer, signal: AbortSignal): Promise<void> {
  let at: Answer = { ...from, api: toContinuingApi(from), status: "running" };
  update({ exchanges: new Map(state.exchanges).set(chatId, []) });
  await whileWriting(from.id, async () => {
    try {
      for (let step = 0; step < MAX_LOOP; step++) {
        at = await runStep(chatId, at, signal);
        if (at.status !== "done") break;
        at = withFixedResults(at, chatOf(chatId).results);
        if (!canContinue(at)) break;
      }
    } finally {
      put(chatId, at);
      if (state.current.id === chatId) announce(at);
      // The answer is stored before another tab reads it.
      await store(chatId);
    }
  });
}

/** The API for a continuation. Responses starts a new answer after a text, instead of continuing it. */
function toContinuingApi(from: Answer): ApiName {
  const isText = isUnfinished(from) && from.parts.at(-1)?.type === "text";
  return isText && from.api === "responses" ? "chat" : from.api;
}

function withFixedResults(answered: Answer, results: Conversation["results"]): Answer {
  const parts = answered.parts.map((part) => {
    if (part.type !== "call" || part.result !== undefined || !Object.hasOwn(results, part.name))
      return part;
    return { ...part, result: results[part.name] ?? "" };
  });
  return { ...answered, parts };
}

async function runStep(chatId: string, from: Answer, signal: AbortSignal): Promise<Answer> {
  const began = performance.now();
  const draft = new Draft(from.parts, Date.now);
  let at = from;
  let firstMs: number | undefined;
  const show = (changes: Partial<Answer>) => {
    at = { ...at, parts: [...draft.parts], usage: draft.usage, ...changes };
    put(chatId, at);
    storeSoon(chatId);
  };
  // The status is set before the page is drawn as if the answer had ended with its calls.
  show({ status: "running" });
  try {
    const { exchange, response } = await post(chatId, from, signal);
    const requestId = response.headers.get("x-request-id");
    if (requestId !== null) at = { ...at, requestId };
    if (!response.ok || response.body === null) {
      const data = await response.clone().text();
      keep(exchange, { ms: performance.now() - began, name: "", data });
      throw await toError(response);
    }
    const read = READERS[from.api](draft);
    for await (const { name, data } of readEvents(response.body)) {
      const ms = performance.now() - began;
      keep(exchange, { ms, name, data });
      const event = parseEvent(data);
      if (event === undefined) continue;
      read(event);
      if (firstMs === undefined && draft.parts.at(-1) !== from.parts.at(-1)) firstMs = ms;
      show({});
    }
    const totalMs = performance.now() - began;
    const times = { firstMs: firstMs ?? totalMs, totalMs };
    const { finish, problem } = draft;
    if (problem === undefined && finish !== undefined) show({ status: "done", finish, ...times });
    else show({ status: "failed", problem: problem ?? BROKEN_OFF, ...times });
  } catch (error) {
    if (signal.aborted) {
      show({ status: "stopped", totalMs: performance.now() - began });
    } else {
      const problem = problemOf(error);
      show({ status: "failed", problem });
      if (error instanceof KeyNeeded) update({ keyProblem: problem, isRefused: true });
    }
  }
  return at;
}

async function post(chatId: string, from: Answer, signal: AbortSignal) {
  const chat = chatOf(chatId);
  const path = toPath(chat);
  const before = path.slice(
    0,
    path.findIndex(({ id }) => id === from.id),
  );
  const asked = from.parts.length > 0 ? [...before, from] : before;
  const composed = toComposed(chat, asked, from.api);
  const body = { ...toBody(from.api, composed), stream: true };
  const exchange: Exchange = {
    api: from.api,
    path: API_PATHS[from.api],
    body,
    notes: lackingSentences(from.api, composed, chat.gatewayTools),
    headers: [],
    events: [],
    dropped: 0,
  };
  const response = await request(API_PATHS[from.api], {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-session-id": chatId,
      ...(chat.forkOf !== undefined && { "x-harmony-fork-of": chat.forkOf }),
    },
    body: JSON.stringify(body),
    signal,
  });
  if (response.ok) {
    changeChat(chatId, (now) => {
      const { forkOf: _, ...rest } = now;
      return rest;
    });
  }
  const seen = { ...exchange, status: response.status, headers: [...response.headers] };
  const earlier = state.exchanges.get(chatId) ?? [];
  update({ exchanges: new Map(state.exchanges).set(chatId, [...earlier, seen]) });
  return { exchange: seen, response };
}

function keep(exchange: Exchange, event: Exchange["events"][number]): void {
  if (exchange.events.length < MAX_KEPT_EVENTS) exchange.events.push(event);
  else exchange.dropped += 1;
}

function parseEvent(data: string) {
  try {
    const value: unknown = JSON.parse(data);
    return isObject(value) ? value : undefined;
  } catch {
    // The data is `[DONE]`, the end of a stream.
    return undefined;
  }
}

function put(chatId: string, message: Answer): void {
  changeChat(chatId, (chat) => replace(chat, message));
}

/** The chat of a running answer, which is not deleted before the end. */
function chatOf(id: string): Conversation {
  const chat = findChat(id);
  if (chat === undefined) throw new Error("The chat was deleted.");
  return chat;
}

/** Announces complete answers to screen readers. */
function announce({ status, parts, problem }: Answer): void {
  const text = parts.map((part) => (part.type === "text" ? part.text : "")).join("");
  update({
    said: status === "failed" ? `Failed: ${problem}` : status === "stopped" ? "Stopped." : text,
  });
}
