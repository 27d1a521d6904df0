/** The gateway and those it is measured beside, one line each. */
import type { Results } from "./results.ts";
import { toText } from "./targets.ts";
import type { Grid } from "./report.ts";

export const PEERS: readonly string[] = ["direct", "hono-pipe", "gateway", "portkey", "litellm"];

/** Scenario, number, and how the column is called. */
const COLUMNS = [
  ["paced-64", "cpuPerToken", "µs CPU / token, 64 streams × 50 tokens/s"],
  ["paced-64-at-10", "cpuPerToken", "µs CPU / token, 64 streams × 10 tokens/s"],
  ["first-token", "first", "first token of a short request alone, ms"],
  ["requests", "perSecond", "short requests / s, 64 at a time"],
  ["requests", "cpuPerRequest", "µs CPU / request"],
] as const;

/** Undefined unless all of them took part. */
export function toPeersTable({ streaming = {} }: Results): Grid | undefined {
  if (!PEERS.every((peer) => streaming["requests"]?.[peer] !== undefined)) return undefined;
  return {
    head: ["", ...COLUMNS.map(([, , title]) => title)],
    rows: PEERS.map((peer) => [
      peer,
      ...COLUMNS.map(([scenario, number]) =>
        toText(streaming[scenario]?.[peer]?.[number]?.median ?? NaN),
      ),
    ]),
  };
}
