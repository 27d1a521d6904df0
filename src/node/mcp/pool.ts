/**
 * A pool of connections to MCP servers, one per key: a server of the operator has one for all tenants, a server named by requests
 * has one per tenant and set of credentials. Unused connections are closed after a while, and with the pool.
 */
import { type McpServer, type McpTool, McpUnavailable } from "../../tools/mcp/connection.ts";

export interface McpPoolOptions {
  /** Lifetime of an unused connection and of a cached list of tools. */
  readonly idleMs?: number;
  readonly listingMs?: number;
  /** Maximum connections in total, and per group. */
  readonly maxConnections?: number;
  readonly maxOfGroup?: number;
}

export interface ConnectionKey {
  readonly key: string;
  /** The group with a common limit of connections: a tenant. */
  readonly group: string;
}

export interface Connection {
  readonly server: McpServer;
  readonly group: string;
  users: number;
  lastUse: number;
  idle: ReturnType<typeof setTimeout> | undefined;
  listing: Listing | undefined;
}

/** A failed listing is cached too, so that a server that is down delays only one request. */
interface Listing {
  readonly tools: Promise<readonly McpTool[]>;
  readonly madeAt: number;
  failed: boolean;
}

const IDLE_MS = 300_000;
const LISTING_MS = 60_000;
const FAILED_LISTING_MS = 5000;
const MAX_CONNECTIONS = 256;
const MAX_OF_GROUP = 32;

export class McpPool {
  readonly #connections = new Map<string, Connection>();
  /** Open connections, including those of retired pools that calls still use. */
  readonly #open: Set<Connection>;
  readonly #limits: Required<McpPoolOptions>;
  #uses = 0;
  #isRetired = false;

  /** @param open the connections of all pools together, for the limits. */
  constructor(options: McpPoolOptions = {}, open = new Set<Connection>()) {
    this.#open = open;
    this.#limits = {
      idleMs: IDLE_MS,
      listingMs: LISTING_MS,
      maxConnections: MAX_CONNECTIONS,
      maxOfGroup: MAX_OF_GROUP,
      ...options,
    };
  }

  get size(): number {
    return this.#connections.size;
  }

  /** Returns the server for the connection of this key. */
  server(label: string, key: ConnectionKey, connect: () => McpServer): McpServer {
    const use = <T>(work: (connection: Connection) => Promise<T>) => this.#use(key, connect, work);
    return {
      label,
      listTools: (signal) => use((connection) => this.#list(connection, signal)),
      async callTool(name, args, signal, readMedia) {
        try {
          return await use(({ server }) => server.callTool(name, args, signal, readMedia));
        } catch (error) {
          if (!(error instanceof McpUnavailable)) throw error;
          const { message } = error;
          return { text: message, error: { type: "protocol", code: BUSY, message } };
        }
      },
      // The pool closes the connection.
      close: () => Promise.resolve(),
    };
  }

  /** Closes each connection as soon as it is unused. Running calls are completed. */
  async retire(): Promise<void> {
    this.#isRetired = true;
    const idle = [...this.#connections].filter(([, { users }]) => users === 0);
    await Promise.all(idle.map(([key, connection]) => this.#close(key, connection)));
  }

  async #use<T>(
    { key, group }: ConnectionKey,
    connect: () => McpServer,
    work: (connection: Connection) => Promise<T>,
  ): Promise<T> {
    const connection = this.#connections.get(key) ?? this.#connect(key, group, connect);
    clearTimeout(connection.idle);
    connection.users++;
    connection.lastUse = ++this.#uses;
    try {
      return await work(connection);
    } finally {
      connection.users--;
      if (connection.users === 0) this.#leave(key, connection);
    }
  }

  /** @throws McpUnavailable */
  #connect(key: string, group: string, connect: () => McpServer): Connection {
    const own = [...this.#connections];
    const inGroup = [...this.#open].filter((each) => each.group === group).length;
    if (inGroup >= this.#limits.maxOfGroup) {
      this.#makeRoom(own.filter(([, each]) => each.group === group));
    } else if (this.#open.size >= this.#limits.maxConnections) this.#makeRoom(own);
    const connection: Connection = {
      server: connect(),
      group,
      users: 0,
      lastUse: 0,
      idle: undefined,
      listing: undefined,
    };
    this.#connections.set(key, connection);
    this.#open.add(connection);
    return connection;
  }

  /** Closes the least recently used of the given connections. */
  #makeRoom(among: readonly (readonly [string, Connection])[]): void {
    const [longest] = among
      .filter(([, { users }]) => users === 0)
      .toSorted(([, a], [, b]) => a.lastUse - b.lastUse);
    if (longest === undefined) throw new McpUnavailable("Too many MCP servers are in use.");
    void this.#close(...longest);
  }

  #leave(key: string, connection: Connection): void {
    if (this.#isRetired) void this.#close(key, connection);
    else {
      connection.idle = setTimeout(() => void this.#close(key, connection), this.#limits.idleMs);
      // The timer does not keep the process alive.
      if (typeof connection.idle === "object") connection.idle.unref();
    }
  }

  async #close(key: string, connection: Connection): Promise<void> {
    clearTimeout(connection.idle);
    if (this.#connections.get(key) === connection) this.#connections.delete(key);
    this.#open.delete(connection);
    // Errors while closing are ignored: the connection is not used any more.
    await connection.server.close().catch(() => undefined);
  }

  /** Returns the cached list if it is recent. Concurrent requests share one listing. */
  #list(connection: Connection, signal: AbortSignal): Promise<readonly McpTool[]> {
    const { listing } = connection;
    const age = listing === undefined ? Infinity : performance.now() - listing.madeAt;
    const limit = listing?.failed ? FAILED_LISTING_MS : this.#limits.listingMs;
    const current = listing !== undefined && age < limit ? listing : this.#ask(connection);
    return unlessLeft(current.tools, signal);
  }

  #ask(connection: Connection): Listing {
    const tools = connection.server.listTools(new AbortController().signal);
    const listing: Listing = { tools, madeAt: performance.now(), failed: false };
    connection.listing = listing;
    tools.catch(() => {
      listing.failed = true;
    });
    return listing;
  }
}

/** JSON-RPC's code for an internal error. */
const BUSY = -32_603;

async function unlessLeft<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const result = await work;
  signal.throwIfAborted();
  return result;
}
