/** The services that all requests of the Responses API share, and the caller of one request. */
import { createKeySetting } from "../../config/key-setting.ts";
import { partOf, type ProcessState } from "../../lazy.ts";
import type { Services } from "../api.ts";
import { ByteBudget, HeldBytes } from "../request/byte-budget.ts";
import type { Client } from "../request/client.ts";
import type { CountedLists, RequestLimits } from "../request/limits.ts";
import { toMediaRules } from "../request/content-text.ts";
import { ConversationStore } from "./conversations.ts";
import { type BeginMessage, logMessages } from "./log-messages.ts";
import { createResponseStore, type ResponseStore } from "./response-store.ts";
import type { ReasoningEvents } from "./to-events.ts";
import type { Unsupported } from "./history-item.ts";
import { RequestError } from "../errors.ts";

/** The services, this API's values from the settings, and the stores that all its requests share. */
export interface ResponsesContext extends Services {
  readonly limits: RequestLimits & CountedLists;
  readonly ttlSeconds: number;
  /** Maximum length of a message on a WebSocket; bodies of requests are limited earlier. */
  readonly maxBodyBytes: number;
  readonly unsupported: Unsupported;
  readonly reasoningEvents: (tenant: string) => ReasoningEvents;
  /** Maximum number of a tenant's concurrent background responses. */
  readonly maxBackgroundOf: (tenant: string) => number;
  readonly beginMessage: BeginMessage;
  readonly conversations: ConversationStore;
  readonly responses: ResponseStore;
  readonly sockets: OpenSockets;
  /** Budget for the latest responses of WebSockets, which only their connection can continue. */
  readonly ownResponses: ByteBudget;
  /** Reads a stored conversation or response when the tenant's budget for concurrent reads has room. */
  readonly readStored: <T>(
    tenant: string,
    reader: Pick<Request, "signal">,
    read: () => Promise<T>,
  ) => Promise<T>;
}

/** Number of stored entries of the maximum size that a tenant may read concurrently. */
const READS_AT_ONCE = 4;

export function createResponsesContext(services: Services): ResponsesContext {
  const { settings, store, state, log, clock, audit } = services;
  const { maxBodyBytes, storeTtlSeconds: ttlSeconds } = settings;
  const reads = new ByteBudget(maxBodyBytes, {
    doing: "reading stored entries for",
    held: readsIn(state),
  });
  // The maximum size is reserved, because the size of an entry is known only when it is in memory.
  const entryBytes = Math.min(store.maxEntryBytes, maxBodyBytes / READS_AT_ONCE);
  const entries = { ...services, ttlSeconds };
  return {
    ...entries,
    limits: { ...settings, messageLists: ["input"], toolLists: ["tools"] },
    maxBodyBytes,
    unsupported: {
      kinds: settings.unsupportedTools,
      mediaRules: toMediaRules(settings.mediaInput, "refuse"),
    },
    reasoningEvents: createKeySetting(settings, "reasoningEvents"),
    maxBackgroundOf: createKeySetting(settings, "maxBackgroundPerKey"),
    beginMessage: logMessages(log, clock, audit),
    async readStored(tenant, reader, read) {
      const lease = await reads.reserve(tenant, entryBytes, reader);
      try {
        return await read();
      } finally {
        lease.release();
      }
    },
    conversations: new ConversationStore(entries),
    responses: createResponseStore(entries),
    sockets: new OpenSockets(createKeySetting(settings, "maxSocketsPerKey"), state),
    ownResponses: new ByteBudget(maxBodyBytes, { held: ownBytesIn(state) }),
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
  /** Whether the client is Codex. */
  readonly isCodex: boolean;
  /** The store of the caller's responses. On a WebSocket, the connection's own responses come first. */
  readonly responses: ResponseStore;
}

/** Counts the open WebSockets of each tenant: each may hold messages of the maximum size in memory. */
export class OpenSockets {
  readonly #maxOf: (tenant: string) => number;
  readonly #open: Map<string, number>;

  /** @param state holds the counts, shared by all generations of settings. */
  constructor(maxOf: (tenant: string) => number, state?: ProcessState) {
    this.#maxOf = maxOf;
    this.#open = openIn(state);
  }

  /** @throws RequestError when the tenant has reached the limit. */
  check(tenant: string): void {
    const own = this.#countOf(tenant);
    if (own < this.#maxOf(tenant)) return;
    throw new RequestError(
      `This key has reached its limit of ${own} open WebSockets. Close one, or send the request with POST.`,
      { status: 429, retryAfter: 1 },
    );
  }

  /** Counts a socket until the returned function is called. Further calls of the function have no effect. */
  enter(tenant: string): () => void {
    this.#open.set(tenant, this.#countOf(tenant) + 1);
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      const left = this.#countOf(tenant) - 1;
      if (left > 0) this.#open.set(tenant, left);
      else this.#open.delete(tenant);
    };
  }

  #countOf(tenant: string): number {
    return this.#open.get(tenant) ?? 0;
  }
}

/** The number of open WebSockets, by tenant. */
const openIn = partOf(() => new Map<string, number>());
