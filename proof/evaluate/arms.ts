/** What is compared: the engine's own chat endpoint, and the gateway over the same engine with several settings. */
import { resolveSettings } from "../../src/config/resolve.ts";
import { type SettingName, settingsSchema } from "../../src/config/settings.ts";
import { serveGateway } from "../../src/node/server/serve.ts";
import { createLog } from "../../src/telemetry/log.ts";
import type { Endpoint } from "./play.ts";

export interface Arm {
  readonly name: string;
  readonly about: string;
  /** Absent: the engine's own endpoint. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** A header of replies in which the settings had an effect. */
  readonly proves?: string;
}

/** To compare something else: one line here. The first is what the others are compared with. */
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
  /** By kind, how often the gateway has repaired or steered what the model wrote. */
  repairs(): Promise<Readonly<Record<string, number>>>;
  close(): Promise<void>;
}

/** The settings of an arm that this version does not have. */
export function missingSettings({ settings = {} }: Arm): string[] {
  const known = new Set<string>(settingsSchema.unwrap().keyof().options);
  return Object.keys(settings).filter((name) => !known.has(name));
}

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
  const values = {
    port: 0,
    url: engine,
    model,
    metrics: "open",
    ...(key && { engineKey: key }),
    ...settings,
  };
  const names = settingsSchema.unwrap().keyof();
  const given = Object.entries(values).map(([name, value]) => {
    const known: SettingName = names.parse(name);
    return { name: known, value, source: "proof/evaluate" };
  });
  const gateway = await serveGateway(resolveSettings(given, { public: false }), {
    log: createLog({ level: "silent", now: Date.now, write: () => undefined }),
  });
  while (!(await fetch(new URL("/ready", gateway.baseUrl))).ok) {
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
