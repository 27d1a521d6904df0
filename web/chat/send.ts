/** Sends the conversation, and reads the answer as it is written. Calls that have a fixed result are answered at once. */
import { toBody } from "../../src/snippets/bodies.ts";
import { API_PATHS, type ApiName, type Attachment } from "../../src/snippets/composed.ts";
import { isObject } from "../../src/snippets/read.ts";
import { lackingSentences } from "./apis.ts";
import { toComposed } from "./compose.ts";
import {
  add,
  type Answer,
  canContinue,
  type Conversation,
  type Message,
  replace,
  toPath,
  toTitle,
} from "./conversation.ts";
import { KeyNeeded, problemOf, request, toError } from "./gateway.ts";
import { readChat } from "./readers/chat.ts";
import { Draft, type ReadEvent } from "./readers/draft.ts";
import { readMessages } from "./readers/messages.ts";
import { readResponses } from "./readers/responses.ts";
import { readEvents } from "./server-events.ts";
import { type Exchange, modelOf, state, update } from "./state.ts";
import { store } from "./store-current.ts";

const READERS: Readonly<Record<ApiName, (draft: Draft) => ReadEvent>> = {
  chat: readChat,
  responses: readResponses,
  messages: readMessages,
};

/** Requests of one answer that are sent without the reader. */
const MAX_LOOP = 20;
const BROKEN_OFF = "The connection was closed before the answer was complete.";
/** Shown at once; more would slow the page down. */
const MAX_KEPT_EVENTS = 300;

/** Whether a request can be made of the settings, so that a wrong field does not become a failed answer. Otherwise shows them. */
export function canSend(): boolean {
  try {
    toComposed(state.current, []);
    return true;
  } catch (error) {
    const notice = error instanceof Error ? error.message : String(error);
    update({ notice, pane: "options", isPaneOpen: true });
    return false;
  }
}

/** Asks after the last message of the path, or beside a sibling. */
export async function ask(
  { text, files }: { readonly text: string; readonly files: readonly Attachment[] },
  parent: string | null,
  signal: AbortSignal,
): Promise<void> {
  const { current } = state;
  const id = crypto.randomUUID();
  const question: Message = { id, parent, role: "user", text, ...(files.length > 0 && { files }) };
  const first = text === "" ? (files[0]?.name ?? "") : text;
  const title = current.messages.length === 0 ? toTitle(first) : current.title;
  update({ current: { ...add(current, question), title } });
  // Closing the page during the answer does not lose the question.
  void store();
  await answer(question, current.api, signal);
}

/** Writes an answer to a question, beside those it has. */
export async function answer(question: Message, api: ApiName, signal: AbortSignal): Promise<void> {
  const next: Answer = {
    id: crypto.randomUUID(),
    parent: question.id,
    role: "assistant",
    parts: [],
    api,
    model: modelOf(state.current),
    status: "running",
  };
  update({ current: add(state.current, next), exchanges: [], notice: "", erased: undefined });
  await proceed(next, signal);
}

/** Continues an answer: from its beginning, or after the results of its calls. */
export async function proceed(from: Answer, signal: AbortSignal): Promise<void> {
  let at: Answer = { ...from, status: "running" };
  try {
    for (let step = 0; step < MAX_LOOP; step++) {
      at = await runStep(at, signal);
      if (at.status !== "done") break;
      at = withFixedResults(at, state.current.results);
      if (!canContinue(at)) break;
    }
  } finally {
    put(at);
    announce(at);
  }
}

function withFixedResults(answered: Answer, results: Conversation["results"]): Answer {
  const parts = answered.parts.map((part) => {
    if (part.type !== "call" || part.result !== undefined || !Object.hasOwn(results, part.name))
      return part;
    return { ...part, result: results[part.name] ?? "" };
  });
  return { ...answered, parts };
}

async function runStep(from: Answer, signal: AbortSignal): Promise<Answer> {
  const began = performance.now();
  const draft = new Draft(from.parts, Date.now);
  let at = from;
  let firstMs: number | undefined;
  const show = (changes: Partial<Answer>) => {
    at = { ...at, parts: [...draft.parts], usage: draft.usage, ...changes };
    put(at);
  };
  // Before the page is drawn as if the answer had ended with its calls.
  show({ status: "running" });
  try {
    const { exchange, response } = await post(from, signal);
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
      if (firstMs === undefined && draft.parts.length > from.parts.length) firstMs = ms;
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

async function post(from: Answer, signal: AbortSignal) {
  const { current } = state;
  const path = toPath(current);
  const before = path.slice(
    0,
    path.findIndex(({ id }) => id === from.id),
  );
  const asked = from.parts.length > 0 ? [...before, from] : before;
  const composed = toComposed(current, asked, from.api);
  const body = { ...toBody(from.api, composed), stream: true };
  const exchange: Exchange = {
    api: from.api,
    path: API_PATHS[from.api],
    body,
    notes: lackingSentences(from.api, composed, current.gatewayTools),
    headers: [],
    events: [],
    dropped: 0,
  };
  const response = await request(API_PATHS[from.api], {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-session-id": current.id,
      ...(current.forkOf !== undefined && { "x-harmony-fork-of": current.forkOf }),
    },
    body: JSON.stringify(body),
    signal,
  });
  if (response.ok) {
    const { forkOf: _, ...rest } = state.current;
    update({ current: rest });
  }
  const seen = { ...exchange, status: response.status, headers: [...response.headers] };
  update({ exchanges: [...state.exchanges, seen] });
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
    // `[DONE]`, the end of a stream.
    return undefined;
  }
}

function put(message: Answer): void {
  update({ current: replace(state.current, message) });
}

/** Screen readers hear complete answers only. */
function announce({ status, parts, problem }: Answer): void {
  const text = parts.map((part) => (part.type === "text" ? part.text : "")).join("");
  update({
    said: status === "failed" ? `Failed: ${problem}` : status === "stopped" ? "Stopped." : text,
  });
}
