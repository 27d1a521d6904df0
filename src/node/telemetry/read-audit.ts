/** Adds up lines of the audit file for `harmony-gateway usage` and the inspector's table of keys. */
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import * as z from "zod";
import { getOrCreate } from "../../lazy.ts";
import type { KeyUse, KeyUses } from "../../inspect/options.ts";

/** The members that are read. A line of the audit has more. */
const auditLine = z.object({
  time: z.string(),
  key: z.string().nullable(),
  client: z.string().nullish(),
  model: z.string().nullable(),
  status: z.number().nullable(),
  finish: z.string().nullable(),
  promptTokens: z.number(),
  cachedTokens: z.number(),
  completionTokens: z.number(),
  reasoningTokens: z.number(),
  ms: z.number().nullish(),
});
export type AuditLine = z.infer<typeof auditLine>;

/**
 * The lines of a file, from its beginning. Undefined: the line is not from the audit, or was truncated by a full disk.
 *
 * @param maxBytes only the end of a longer file is read.
 * @throws the error of the file system if the file cannot be read
 */
export async function* readAudit(
  file: string,
  maxBytes = Infinity,
): AsyncGenerator<AuditLine | undefined> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    // A named pipe has no offset to start from.
    const skipped = maxBytes === Infinity ? 0 : Math.max(0, (await handle.stat()).size - maxBytes);
    for await (const text of handle.readLines(skipped > 0 ? { start: skipped } : {})) {
      yield parseLine(text);
    }
  } finally {
    await handle.close();
  }
}

function parseLine(text: string): AuditLine | undefined {
  try {
    return auditLine.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

export interface UsageSum {
  requests: number;
  failed: number;
  rejected: number;
  promptTokens: number;
  cachedTokens: number;
  completionTokens: number;
  reasoningTokens: number;
}

export function createSum(): UsageSum {
  return {
    requests: 0,
    failed: 0,
    rejected: 0,
    promptTokens: 0,
    cachedTokens: 0,
    completionTokens: 0,
    reasoningTokens: 0,
  };
}

export function addLine(sum: UsageSum, line: AuditLine): void {
  const { status, finish } = line;
  // A background turn has a line without a status. Its request has a separate line.
  if (status !== null) sum.requests += 1;
  if (finish === "failed" || (status ?? 0) >= 500) sum.failed += 1;
  else if (status !== null && status >= 400 && status !== 499) sum.rejected += 1;
  sum.promptTokens += line.promptTokens;
  sum.cachedTokens += line.cachedTokens;
  sum.completionTokens += line.completionTokens;
  sum.reasoningTokens += line.reasoningTokens;
}

/** Bytes at the end of the file that the inspector reads: some 40,000 requests. A larger file costs no more time or memory. */
const MAX_BYTES = 16 * 2 ** 20;
const MAX_AGE_MS = 30 * 86_400_000;
/** Maximum keys that are listed, and clients of each. */
const MAX_KEYS = 50;
const MAX_CLIENTS = 4;

/** The sums of each key in the last 30 days, limited to the end of the file. The busiest key is first. */
export async function readKeyUses(
  file: string,
  now = Date.now(),
  maxBytes = MAX_BYTES,
): Promise<KeyUses> {
  const oldest = new Date(now - MAX_AGE_MS).toISOString();
  const byKey = new Map<
    string,
    { sum: UsageSum; clients: Set<string>; ms: number[]; at: string }
  >();
  let since: string | undefined;
  for await (const line of readAudit(file, maxBytes)) {
    if (line === undefined || line.key === null || line.time < oldest) continue;
    since ??= line.time;
    const use = getOrCreate(byKey, line.key, () => ({
      sum: createSum(),
      clients: new Set<string>(),
      ms: [],
      at: line.time,
    }));
    addLine(use.sum, line);
    if (use.clients.size < MAX_CLIENTS && line.client) use.clients.add(line.client);
    if (typeof line.ms === "number") use.ms.push(line.ms);
    if (line.time > use.at) use.at = line.time;
  }
  const keys = Array.from(byKey, ([key, { sum, clients, ms, at }]): KeyUse => {
    const { requests, failed, promptTokens, completionTokens } = sum;
    const times = ms.toSorted((a, b) => a - b);
    const p95 = times[Math.min(times.length - 1, Math.floor(times.length * 0.95))] ?? null;
    const counts = { requests, failed, promptTokens, completionTokens };
    return { key, clients: [...clients], ...counts, p95, at };
  }).toSorted((a, b) => b.requests - a.requests);
  return { since: since ?? oldest, count: keys.length, keys: keys.slice(0, MAX_KEYS) };
}
