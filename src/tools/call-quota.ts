/**
 * Limits a tenant's calls of browser and python per hour, because search services charge by the call. Unused calls are
 * not saved up: after an hour without calls a tenant has its whole quota, but never more.
 */
import { partOf, type ProcessState } from "../lazy.ts";
import type {
  GatewayCall,
  GatewayToolResult,
  GatewayToolRun,
  GatewayTool,
} from "./gateway-tool.ts";
import type { Toolbox, TrainedToolbox } from "./toolbox.ts";

export interface CallQuotaOptions {
  /** Maximum calls per hour. Undefined: no limit. */
  readonly perHour: (tenant: string) => number | undefined;
  /** Monotonic, in milliseconds. */
  readonly now: () => number;
  /** Holds the counts, so that a reload of the settings does not renew quotas. */
  readonly state?: ProcessState;
}

/** Wraps tools. A call above the quota is not made, and its result informs the model. */
export function limitCalls(toolbox: Toolbox, options: CallQuotaOptions): Toolbox {
  const countCall = createQuota(options);
  const { browser, python } = toolbox;
  const limited: TrainedToolbox = {
    browser: browser && ((given) => limitTool(browser(given), countCall)),
    python: python && ((given) => limitTool(python(given), countCall)),
  };
  return { ...toolbox, ...limited };
}

const HOUR_MS = 3_600_000;

/**
 * Counts one call against a tenant's quota. Returns false if the quota is used up. Tenants are the operator's keys, so
 * there are few.
 */
function createQuota({ perHour, now, state }: CallQuotaOptions): (tenant: string) => boolean {
  const left = callsLeftIn(state);
  return (tenant) => {
    const quota = perHour(tenant);
    if (quota === undefined) return true;
    const at = now();
    const last = left.get(tenant) ?? { calls: quota, at };
    const gained = (Math.max(0, at - last.at) / HOUR_MS) * quota;
    const calls = Math.min(quota, last.calls + gained);
    const isLeft = calls >= 1;
    left.set(tenant, { calls: isLeft ? calls - 1 : calls, at });
    return isLeft;
  };
}

/** Remaining calls by tenant. */
const callsLeftIn = partOf(() => new Map<string, { calls: number; at: number }>());

function limitTool(tool: GatewayTool, countCall: (tenant: string) => boolean): GatewayTool {
  return {
    ...tool,
    async open(session) {
      const run = await tool.open(session);
      return {
        run: (call, signal) =>
          countCall(session.tenant) ? run.run(call, signal) : Promise.resolve(refuse(tool, call)),
        ...(run.cite && { cite: (cursor, lines) => run.cite?.(cursor, lines) }),
        save: () => run.save(),
        close: () => run.close(),
      } satisfies GatewayToolRun;
    },
  };
}

const REFUSED =
  "Error: too many tool calls were made in the last hour. Do not repeat the call. Answer with what you have.";

function refuse(tool: GatewayTool, call: GatewayCall): GatewayToolResult {
  return { text: REFUSED, failed: true, reason: "limit", shown: tool.describe(call, REFUSED) };
}
