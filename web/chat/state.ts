/** The state of the page, and its changes. */
import { drawSoon } from "../shared/redraw.ts";
import type { ApiName, Body } from "../../src/snippets/composed.ts";
import { type Conversation, type MessageFile, newConversation } from "./conversation.ts";
import { loadDefaults } from "./defaults.ts";
import type { GatewayStatus } from "./gateway.ts";

export type Pane = "code" | "options" | "events";

/** One request of an answer, as sent, with its response. */
export interface Exchange {
  readonly api: ApiName;
  readonly path: string;
  readonly body: Body;
  /** Sentences about parts of the composed request that the API cannot express. */
  readonly notes: readonly string[];
  readonly status?: number;
  readonly headers: readonly (readonly [string, string])[];
  readonly events: { readonly ms: number; readonly name: string; readonly data: string }[];
  /** Number of events that were dropped. */
  dropped: number;
}

/** An answer that is being written. */
export interface Run {
  readonly stop: () => void;
  /** Settles when the answer has ended, and its chat is stored. */
  readonly ended: Promise<void>;
}

/** The unsent message of the reader. */
export interface Writing {
  draft: string;
  /** The files of the next message. */
  files: readonly MessageFile[];
  /** The question that is being edited. */
  editing: string | undefined;
  /** The unsent message before the edit. */
  earlier: Pick<Writing, "draft" | "files"> | undefined;
}

export const NOTHING_WRITTEN: Readonly<Writing> = {
  draft: "",
  files: [],
  editing: undefined,
  earlier: undefined,
};

export interface State extends Writing {
  /** Chats, newest first. The current one is included after its first request, in its last stored state. */
  conversations: readonly Conversation[];
  current: Conversation;
  status: GatewayStatus | undefined;
  /** The reason why the gateway cannot be used. */
  statusProblem: string;
  /** The reason for which a key must be entered. Undefined: no key is needed. */
  keyProblem: string | undefined;
  /** The gateway requires a key, or another one. */
  isRefused: boolean;
  notice: string;
  /** The last deleted conversation, while it can be restored. */
  erased: Conversation | undefined;
  search: string;
  pane: Pane;
  isPaneOpen: boolean;
  isListOpen: boolean;
  isHelpOpen: boolean;
  client: string;
  withKey: boolean;
  /** The exchanges of the last answer of each opened chat, by the chat's id. */
  exchanges: ReadonlyMap<string, readonly Exchange[]>;
  /** Running answers by the chat's id. */
  runs: ReadonlyMap<string, Run>;
  /** The id of the chat whose title is being changed. */
  renaming: string | undefined;
  /** Text that is announced to screen readers. */
  said: string;
}

/** Windows with room for the right side beside the conversation. In others it overlays the conversation. */
const wide = matchMedia("(min-width: 1100px)");

export function isPaneAbove(): boolean {
  return state.isPaneOpen && !wide.matches;
}

const PANE = "harmony-gateway-pane";

/** The pane that the reader has left open on this device. Empty: there is none. */
const keptPane = readPane();

function readPane(): string {
  try {
    return localStorage.getItem(PANE) ?? "";
  } catch {
    // The browser forbids storage.
    return "";
  }
}

function toPane(name: string): Pane {
  return name === "options" || name === "events" ? name : "code";
}

/** @param pane undefined closes the right side */
export function showPane(pane: Pane | undefined): void {
  update({ isPaneOpen: pane !== undefined, pane: pane ?? state.pane });
  try {
    localStorage.setItem(PANE, pane ?? "");
  } catch {
    // The pane stays open until the page is closed.
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

/** Undefined: the chat was deleted. */
export function findChat(id: string): Conversation | undefined {
  const { current, conversations } = state;
  return current.id === id ? current : conversations.find((each) => each.id === id);
}

/** Changes a conversation, shown or not. */
export function changeChat(id: string, changed: (chat: Conversation) => Conversation): void {
  const { current, conversations } = state;
  if (current.id === id) update({ current: changed(current) });
  else
    update({
      conversations: conversations.map((each) => (each.id === id ? changed(each) : each)),
    });
}

/** @param like chat whose API and model are kept, and its effort unless there is a default for new chats */
export function newChat(like?: Conversation): Conversation {
  return { ...newConversation(like), ...loadDefaults() };
}

/** Whether this tab writes the answer of a chat. */
export function isRunning(id = state.current.id): boolean {
  return state.runs.has(id);
}

/** The model for a conversation. */
export function modelOf({ model }: Conversation): string {
  const served = state.status?.models ?? [];
  if (model !== undefined && served.some(({ id }) => id === model)) return model;
  return served[0]?.id ?? model ?? "openai/gpt-oss-20b";
}
