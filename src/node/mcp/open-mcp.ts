/** Creates the MCP servers of this process from the settings. */
import { createHash } from "node:crypto";
import type { McpServerSettings } from "../../config/mcp-servers.ts";
import type { Settings } from "../../config/settings.ts";
import { partOf, type ProcessState } from "../../lazy.ts";
import type { Log } from "../../telemetry/log.ts";
import { checkUrl, FetchRefused } from "../../tools/browser/url-policy.ts";
import {
  type DeclaredServer,
  type McpToolbox,
  type OperatorServer,
  ServerRefused,
} from "../../tools/toolbox.ts";
import { createSafeFetch } from "../safe-fetch.ts";
import { createMcpServer, type McpTarget } from "./connect.ts";
import type { McpFetch } from "./http-fetch.ts";
import { type Connection, McpPool } from "./pool.ts";

/** The guarded fetch for servers that requests name. Replaced in tests, whose servers are on loopback. */
export interface McpGuard {
  /** @throws FetchRefused */
  readonly check: (url: string) => void;
  readonly fetch: McpFetch;
}

export interface OpenMcpOptions {
  readonly guard?: McpGuard;
  /** State of the process. Its limits count the connections of all generations of settings. */
  readonly state?: ProcessState;
}

export interface OpenMcp {
  /** Absent: the settings allow no servers. */
  readonly toolbox?: McpToolbox;
  /** Closes connections when the calls that use them have ended. New requests use another pool. */
  retire(): Promise<void>;
}

/** The element of `mcpFromRequests` that permits all public hosts. */
const ANY = "any";

export function openMcp(
  settings: Pick<Settings, "mcpServers" | "mcpFromRequests" | "mcpTimeoutMs">,
  log: Log,
  { guard = createGuard(settings.mcpFromRequests), state }: OpenMcpOptions = {},
): OpenMcp {
  const { mcpServers, mcpFromRequests, mcpTimeoutMs } = settings;
  const pool = new McpPool({}, openIn(state));
  const servers = new Map(
    Object.entries(mcpServers).map(([label, each]) => [
      label,
      toOperatorServer(label, each, { pool, log, timeoutMs: each.timeoutMs ?? mcpTimeoutMs }),
    ]),
  );
  const fromRequests = mcpFromRequests.length > 0;
  if (servers.size === 0 && !fromRequests) return { retire: () => Promise.resolve() };
  return {
    toolbox: {
      servers,
      ...(fromRequests && {
        connect: (declared) => connectDeclared(declared, pool, guard, mcpTimeoutMs),
      }),
    },
    retire: () => pool.retire(),
  };
}

const openIn = partOf(() => new Set<Connection>());

interface OperatorDeps {
  readonly pool: McpPool;
  readonly log: Log;
  readonly timeoutMs: number;
}

function toOperatorServer(
  label: string,
  settings: McpServerSettings,
  { pool, log, timeoutMs }: OperatorDeps,
): OperatorServer {
  const { url, description, allowedTools: allowed, requireApproval: approval } = settings;
  const onFailure = (reason: string) => log.warn("mcp server failed", { label, reason });
  const target = toTarget(settings);
  return {
    server: pool.server(label, { key: `operator ${label}`, group: "operator" }, () =>
      createMcpServer({ label, target, timeoutMs, onFailure }),
    ),
    policy: { allowed, approval },
    description,
    url,
  };
}

function toTarget(settings: McpServerSettings): McpTarget {
  const { url, headers = {}, command = "", args = [], env = {} } = settings;
  if (url === undefined) return { type: "stdio", command, args, env };
  return { type: "http", url, headers, fetch };
}

function connectDeclared(
  { label, url, headers, tenant }: DeclaredServer,
  pool: McpPool,
  guard: McpGuard,
  timeoutMs: number,
) {
  try {
    guard.check(url);
  } catch (error) {
    if (error instanceof FetchRefused) throw new ServerRefused(error.message, { cause: error });
    throw error;
  }
  const names = Object.keys(headers).toSorted();
  const identity = JSON.stringify([tenant, label, url, names.map((name) => [name, headers[name]])]);
  // The identity is hashed, so that keys do not contain credentials.
  const key = createHash("sha256").update(identity).digest("base64");
  return pool.server(label, { key, group: `tenant ${tenant}` }, () =>
    createMcpServer({
      label,
      target: { type: "http", url, headers, fetch: guard.fetch, maxBytes: DECLARED_BYTES },
      timeoutMs,
    }),
  );
}

/**
 * Maximum bytes of the list of tools of a server that a tenant names. Checking 4 MB of tiny elements takes as long as hundreds of
 * requests, and the protocol's client keeps the last list of each server.
 */
const DECLARED_BYTES = 500_000;

function createGuard(hosts: readonly string[]): McpGuard {
  const policy = { allow: hosts.includes(ANY) ? [] : hosts, deny: [] };
  return { check: (url) => void checkUrl(url, policy), fetch: createSafeFetch() };
}
