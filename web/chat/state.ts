/** The state of the page, and its changes. */
import { drawSoon } from "../shared/redraw.ts";
import type { ApiName, Attachment, Body } from "../../src/snippets/composed.ts";
import { type Conversation, newConversation } from "./conversation.ts";
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

/** The message that the reader writes. */
export interface Writing {
  draft: string;
  /** Pictures and PDFs of the next message. */
  files: readonly Attachment[];
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
  /** Newest first. The current one is among them once something was sent. */
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
  /** Of the last answer. */
  exchanges: readonly Exchange[];
  /** Aborts the request that runs. */
  running: AbortController | undefined;
  /** Announced to screen readers. */
  said: string;
}

/** There is room for the right side beside the conversation. Otherwise it lies above it. */
const wide = matchMedia("(min-width: 1100px)");

export function isPaneAbove(): boolean {
  return state.isPaneOpen && !wide.matches;
}

export const state: State = {
  conversations: [],
  current: newConversation(),
  status: undefined,
  statusProblem: "",
  keyProblem: undefined,
  isRefused: false,
  notice: "",
  erased: undefined,
  ...NOTHING_WRITTEN,
  search: "",
  pane: "code",
  isPaneOpen: wide.matches,
  isListOpen: false,
  isHelpOpen: false,
  client: "curl",
  withKey: false,
  exchanges: [],
  running: undefined,
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

/** That a conversation is sent to. */
export function modelOf({ model }: Conversation): string {
  const served = state.status?.models ?? [];
  if (model !== undefined && served.some(({ id }) => id === model)) return model;
  return served[0]?.id ?? model ?? "openai/gpt-oss-20b";
}
