/** The application with MCP servers, and OpenAI's client for it. */
import { onTestFinished } from "vitest";
import type { ReadPdf } from "../../src/api/media/read-pdf.ts";
import type { Engine, Store } from "../../src/index.ts";
import { type McpGuard, openMcp } from "../../src/node/mcp/open-mcp.ts";
import { type BrowsingApp, createBrowsingApp } from "./browsing-app.ts";
import { testLog, testSettings } from "./gateway.ts";

export interface McpApp extends BrowsingApp {
  /** The entries of the servers' log. */
  readonly logged: readonly Record<string, unknown>[];
}

export interface McpAppOptions {
  readonly engine: Engine;
  readonly settings: Readonly<Record<string, unknown>>;
  /** Absent: requests may declare servers on loopback. */
  readonly guard?: McpGuard | undefined;
  readonly store?: Store;
  readonly readPdf?: ReadPdf;
}

/** A guard that allows loopback, where the tests' servers are. */
const OPEN_GUARD: McpGuard = { check: () => undefined, fetch };

/** Connections are closed at the end of the test. */
export function createMcpApp({
  engine,
  settings,
  guard = OPEN_GUARD,
  ...given
}: McpAppOptions): McpApp {
  const logged: Record<string, unknown>[] = [];
  const mcp = openMcp(testSettings(settings), testLog(logged), { guard });
  onTestFinished(() => mcp.retire());
  const toolbox = mcp.toolbox ? { mcp: mcp.toolbox } : {};
  const app = createBrowsingApp({ engine, toolbox, settings, ...given });
  return { ...app, logged };
}

/** The message of a request's failure. */
export function failureOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => "no failure",
    (error: unknown) => (error instanceof Error ? error.message : "no error"),
  );
}
