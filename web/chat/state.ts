/** The state of the page, and its changes. */
import { drawSoon } from "../shared/redraw.ts";
import type { ApiName, Body } from "../../src/snippets/composed.ts";
import { type Conversation, type MessageFile, newConversation } from "./conversation.ts";
import { loadDefaults } from "./defaults.ts";
import type { GatewayStatus } from "./gateway.ts";

export type Pane = "code" | "options" | "events";

/** One request of an answer, as it went over the wire. */
export interface Exchange {
  readonly api: ApiName;
  readonly path: string;
  readonly body: Body;
  /** What the API lacks of the composed request. */
  readonly notes: readonly string[];
  readonly status?: number;
  readonly headers: readonly (readonly [string, string])[];
  readonly events: { readonly ms: number; readonly name: string; readonly data: string }[];
  /** Events that are not kept. */
  dropped: number;
}

/** An answer that is being written. */
export interface Run {
  readonly stop: () => void;
  /** Settles when it has ended, and its chat is stored. */
  readonly ended: Promise<void>;
}

/** The message that the reader writes. */
export interface Writing {
  draft: string;
  /** The files of the next message. */
  files: readonly MessageFile[];
  /** The question that is being edited. */
  editing: string | undefined;
  /** The message that was in the field before that. */
  earlier: Pick<Writing, "draft" | "files"> | undefined;
}

export const NOTHING_WRITTEN: Readonly<Writing> = {
  draft: "",
  files: [],
  editing: undefined,
  earlier: undefined,
};

export interface State extends Writing {
  /** Newest first. The current one is among them once something was sent, as it was stored last. */
  conversations: readonly Conversation[];
  current: Conversation;
  status: GatewayStatus | undefined;
  /** Why the gateway cannot be used. */
  statusProblem: string;
  /** A key has to be entered; the text says why. */
  keyProblem: string | undefined;
  /** The gateway requires a key, or another one. */
  isRefused: boolean;
  notice: string;
  /** The conversation that was deleted last, as long as it can be brought back. */
  erased: Conversation | undefined;
  search: string;
  pane: Pane;
  isPaneOpen: boolean;
  isListOpen: boolean;
  isHelpOpen: boolean;
  client: string;
  withKey: boolean;
  /** The exchanges of the last answer of each opened chat, by the id of the chat. */
  exchanges: ReadonlyMap<string, readonly Exchange[]>;
  /** By the id of the chat. */
  runs: ReadonlyMap<string, Run>;
  /** The id of the chat whose title is being changed. */
  renaming: string | undefined;
  /** Announced to screen readers. */
  said: string;
}

/** There is room for the right side beside the conversation. Otherwise it lies above it. */
const wide = matchMedia("(min-width: 1100px)");

export function isPaneAbove(): boolean {
  return state.isPaneOpen && !wide.matches;
}

const PANE = "harmony-gateway-pane";

/** The name of the pane that the reader has left open on this device. Empty: none. */
const keptPane = readPane();

function readPane(): string {
  try {
    return localStorage.getItem(PANE) ?? "";
  } catch {
    // Storage is forbidden.
    return "";
  }
}

function toPane(name: string): Pane {
  return name === "options" || name === "events" ? name : "code";
}

/** @param pane undefined: closes the right side */
export function showPane(pane: Pane | undefined): void {
  update({ isPaneOpen: pane !== undefined, pane: pane ?? state.pane });
  try {
    localStorage.setItem(PANE, pane ?? "");
  } catch {
    // It is then open until the page is closed.
  }
}

export const state: State = {
  conversations: [],
  current: newChat(),
  status: undefined,
  statusProblem: "",
  keyProblem: undefined,
  isRefused: false,
  notice: "",
  erased: undefined,
  ...NOTHING_WRITTEN,
  search: "",
  pane: toPane(keptPane),
  isPaneOpen: wide.matches && keptPane !== "",
  isListOpen: false,
  isHelpOpen: false,
  client: "curl",
  withKey: false,
  exchanges: new Map(),
  runs: new Map(),
  renaming: undefined,
  said: "",
};

export function update(changes: Partial<State>): void {
  Object.assign(state, changes);
  drawSoon();
}

/** Changes the current conversation. */
export function change(changes: Partial<Conversation>): void {
  update({ current: { ...state.current, ...changes } });
}

/** Undefined: it was deleted. */
export function findChat(id: string): Conversation | undefined {
  const { current, conversations } = state;
  return current.id === id ? current : conversations.find((each) => each.id === id);
}

/** Changes a conversation, whether it is shown or not. */
export function changeChat(id: string, changed: (chat: Conversation) => Conversation): void {
  const { current, conversations } = state;
  if (current.id === id) update({ current: changed(current) });
  else
    update({
      conversations: conversations.map((each) => (each.id === id ? changed(each) : each)),
    });
}

/** @param like keeps its API and model, and its effort unless new chats have one of their own */
export function newChat(like?: Conversation): Conversation {
  return { ...newConversation(like), ...loadDefaults() };
}

/** Whether the answer of a chat is being written here. */
export function isRunning(id = state.current.id): boolean {
  return state.runs.has(id);
}

/** That a conversation is sent to. */
export function modelOf({ model }: Conversation): string {
  const served = state.status?.models ?? [];
  if (model !== undefined && served.some(({ id }) => id === model)) return model;
  return served[0]?.id ?? model ?? "openai/gpt-oss-20b";
}
