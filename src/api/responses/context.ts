/** The dependencies of the Responses API, and the caller of a request. */
import type { RequestSetting } from "../../config/key-setting.ts";
import type { SystemOptions } from "../../harmony/messages.ts";
import type { ReasoningStore, ReasoningOutcome } from "../../store/reasoning-store.ts";
import type { ReasoningCipher } from "../../store/reasoning-cipher.ts";
import type { EntryDeps } from "../../store/entries.ts";
import type { GuardedStore } from "../../store/guarded-store.ts";
import type { Shutdown } from "../../models/shutdown.ts";
import type { Recorder } from "../../telemetry/record/recorder.ts";
import type { Pause } from "../../streams/slices.ts";
import type { Client } from "../request/client.ts";
import type { OpenMedia } from "../media/open-media.ts";
import type { StreamDeps } from "../reply/stream-reply.ts";
import type { CountedLists, RequestLimits } from "../request/limits.ts";
import type { UploadBudget } from "../request/upload-budget.ts";
import { type ConversationStore, createConversationStore } from "./conversations.ts";
import { createResponseStore, type ResponseStore } from "./response-store.ts";
import type { ReasoningEvents } from "./to-events.ts";
import type { Omissions } from "./omissions.ts";
import { createOpenSockets, type OpenSockets } from "./open-sockets.ts";
import type { ToolSettings } from "./to-turn.ts";
import type { Unsupported } from "./unsupported.ts";

export interface ResponsesDeps extends EntryDeps, StreamDeps {
  readonly reasoning: ReasoningStore;
  readonly cipher: ReasoningCipher;
  /** Rejects when it fails, because clients rely on what is stored here. */
  readonly store: GuardedStore;
  /** The system message's options from the settings, for the date of the request. */
  readonly system: (now: number) => Omit<SystemOptions, "effort">;
  readonly limits: RequestLimits & CountedLists;
  /** Yields between stages of large requests. */
  readonly pause: Pause;
  /** Longest message on a WebSocket; bodies of requests are limited before they get here. */
  readonly maxBodyBytes: number;
  readonly unsupported: Unsupported;
  readonly tools: ToolSettings;
  readonly openMedia: OpenMedia;
  readonly trainedTools: RequestSetting<"trainedTools">;
  /** Absent: no summaries are made. */
  readonly summaries: { readonly waitMs: number } | undefined;
  readonly reasoningEvents: (tenant: string) => ReasoningEvents;
  /** Most concurrent background responses, of one tenant and of all. */
  readonly maxBackgroundOf: (tenant: string) => number;
  readonly maxBackground: number;
  /** Most open WebSockets of one tenant. */
  readonly maxSocketsOf: (tenant: string) => number;
  readonly shutdown: Shutdown;
  /** For the messages of WebSockets; bodies of requests are received before they get here. */
  readonly uploads: UploadBudget;
  /** Records what comes and goes on WebSockets; middleware does it for requests. Absent: nothing is recorded. */
  readonly recorder?: Recorder | undefined;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Letters and digits, unguessable. */
  readonly randomId: () => string;
  /** Called with the type of a WebSocket message that was ignored. */
  readonly onIgnoredMessage: (requestId: string, type: string) => void;
  /** Called with what was left out of a request. */
  readonly onOmissions: (requestId: string, omissions: Omissions) => void;
  /** Called with where the reasoning of a tool loop's step was found, unless `reasoning` has reported it. */
  readonly onRestored: (outcome: ReasoningOutcome) => void;
}

/** The dependencies, and the stores all requests share. */
export interface ResponsesContext extends ResponsesDeps {
  readonly conversations: ConversationStore;
  readonly responses: ResponseStore;
  readonly sockets: OpenSockets;
}

export function createResponsesContext(deps: ResponsesDeps): ResponsesContext {
  return {
    ...deps,
    conversations: createConversationStore(deps),
    responses: createResponseStore(deps),
    sockets: createOpenSockets(deps.maxSocketsOf),
  };
}

/** The sender of a request. */
export interface Caller {
  readonly client: Client;
  readonly requestId: string;
  /** Aborted when the client leaves. */
  readonly signal: AbortSignal;
  /** Its client is Codex. */
  readonly isCodex: boolean;
  /** Where the caller's responses are stored. On a WebSocket, those of the connection come first. */
  readonly responses: ResponseStore;
}
