/** The compared arms: the engine's own chat endpoint, and the gateway over the same engine with several settings. */
import { startGateway, type StartOptions } from "../../src/node/start-gateway.ts";
import type { Endpoint } from "./play.ts";

export interface Arm {
  readonly name: string;
  readonly about: string;
  /** Absent: the engine's own endpoint. */
  readonly settings?: StartOptions;
  /** A header of replies in which the settings had an effect. */
  readonly proves?: string;
}

/** The arms, one per line. All are compared with the first. */
export const ARMS: readonly Arm[] = [
  { name: "engine", about: "the engine's own chat endpoint" },
  { name: "guide", about: "the gateway as it comes", settings: { layout: "guide" } },
  { name: "reference", about: "layout of openai/harmony", settings: { layout: "reference" } },
  {
    name: "channel-first",
    about: "channel first everywhere",
    settings: { layout: "channel-first" },
  },
  {
    name: "direct",
    about: "tools of the model's training",
    settings: { trainedTools: "direct" },
    proves: "x-harmony-trained-tools",
  },
  {
    name: "one-choice",
    about: "announced calls are not continued",
    settings: { continueAnnouncedCalls: false },
  },
];

export interface OpenArm extends Endpoint {
  /** Number of repairs and steering steps of the gateway, by kind. */
  repairs(): Promise<Readonly<Record<string, number>>>;
  close(): Promise<void>;
}

/** Half a minute. */
const MAX_TRIES = 300;

/** @param engine without `/v1` */
export async function openArm(
  { settings }: Arm,
  engine: string,
  { model, key }: { readonly model: string; readonly key?: string | undefined },
): Promise<OpenArm> {
  if (settings === undefined) {
    const none = { repairs: () => Promise.resolve({}), close: () => Promise.resolve() };
    return { baseURL: `${engine}/v1`, model, key, ...none };
  }
  const gateway = await startGateway({
    port: 0,
    url: engine,
    model,
    metrics: "open",
    log: () => undefined,
    ...(key && { engineKey: key }),
    ...settings,
  });
  const ready = new URL("/ready", gateway.baseUrl);
  for (let tries = 0; !(await fetch(ready)).ok; tries++) {
    if (tries === MAX_TRIES) throw new Error(`${engine}: the gateway does not reach it`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return {
    baseURL: gateway.baseUrl,
    model,
    async repairs() {
      const text = await (await fetch(new URL("/metrics", gateway.baseUrl))).text();
      return readRepairs(text);
    },
    close: () => gateway.close(),
  };
}

function readRepairs(metrics: string): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const [, labels = "", count] of metrics.matchAll(
    /^harmony_gateway_recoveries_total\{(.*)\} (\d+)$/gm,
  )) {
    const kind = /kind="([\w-]+)"/.exec(labels)?.[1] ?? "other";
    counts[kind] = (counts[kind] ?? 0) + Number(count);
  }
  return counts;
}
