/** The dependencies of the Responses API, and the caller of a request. */
import type { NamespaceStyle } from "../../harmony/tool-names.ts";
import type { ReasoningOutcome } from "../../store/reasoning-store.ts";
import type { EntryDeps } from "../../store/entries.ts";
import type { GuardedStore } from "../../store/guarded-store.ts";
import type { Client } from "../request/client.ts";
import type { ApiServices } from "../api.ts";
import type { BeginMessage } from "./log-messages.ts";
import { partOf } from "../../lazy.ts";
import { ByteBudget, HeldBytes } from "../request/byte-budget.ts";
import type { TurnDeps } from "../turn-deps.ts";
import { type ConversationStore, createConversationStore } from "./conversations.ts";
import { createResponseStore, type ResponseStore } from "./response-store.ts";
import type { ReasoningEvents } from "./to-events.ts";
import type { Omissions } from "./omissions.ts";
import { createOpenSockets, type OpenSockets } from "./open-sockets.ts";
import type { Unsupported } from "./unsupported.ts";

type ResponsesServices = Pick<
  ApiServices,
  "cipher" | "shutdown" | "state" | "uploads" | "recorder"
>;

export interface ResponsesDeps extends EntryDeps, TurnDeps, ResponsesServices {
  /** Rejects when it fails, because clients rely on what is stored here. */
  readonly store: GuardedStore;
  /** Longest message on a WebSocket; bodies of requests are limited before they get here. */
  readonly maxBodyBytes: number;
  readonly unsupported: Unsupported;
  readonly style: NamespaceStyle;
  /** Maximum tools of a request, including those of namespaces. */
  readonly maxTools: number;
  /** Absent: no summaries are made. */
  readonly summaries: { readonly waitMs: number } | undefined;
  readonly reasoningEvents: (tenant: string) => ReasoningEvents;
  /** Most concurrent background responses, of one tenant and of all. */
  readonly maxBackgroundOf: (tenant: string) => number;
  readonly maxBackground: number;
  /** Most open WebSockets of one tenant. */
  readonly maxSocketsOf: (tenant: string) => number;
  readonly beginMessage: BeginMessage;
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
  /** For the latest responses of WebSockets, which only their connection can continue. */
  readonly ownResponses: ByteBudget;
  /** Reads a stored conversation or response while there is room for it beside the others that its tenant reads. */
  readonly readStored: <T>(
    tenant: string,
    reader: Pick<Request, "signal">,
    read: () => Promise<T>,
  ) => Promise<T>;
}

/** Stored entries of the maximum size that a tenant may read together. */
const READS_AT_ONCE = 4;

export function createResponsesContext(deps: ResponsesDeps): ResponsesContext {
  const reads = new ByteBudget(deps.maxBodyBytes, {
    doing: "reading stored entries for",
    held: readsIn(deps.state),
  });
  // Their size is known when they are in memory.
  const entryBytes = Math.min(deps.store.maxEntryBytes, deps.maxBodyBytes / READS_AT_ONCE);
  return {
    ...deps,
    async readStored(tenant, reader, read) {
      const lease = await reads.reserve(tenant, entryBytes, reader);
      try {
        return await read();
      } finally {
        lease.release();
      }
    },
    conversations: createConversationStore(deps),
    responses: createResponseStore(deps),
    sockets: createOpenSockets(deps.maxSocketsOf, deps.state),
    ownResponses: new ByteBudget(deps.maxBodyBytes, { held: ownBytesIn(deps.state) }),
  };
}

const ownBytesIn = partOf(() => new HeldBytes());
const readsIn = partOf(() => new HeldBytes());

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
