/** Applications for cases: one for each combination of settings and engine, because making one costs as much as a turn. */
import { createApp } from "../../../src/app.ts";
import { resolveSettings, type Settings, settingsSchema } from "../../../src/index.ts";
import { type SettingName } from "../../../src/config/settings.ts";
import { createLog } from "../../../src/telemetry/log.ts";
import { createModels } from "../../../src/models/models.ts";
import type { Case } from "./case.ts";
import { createHttpEngine } from "./http-engine.ts";
import { type Fault, withFault, withFaultyRequests } from "./faults.ts";
import { VISION_SETTINGS, visionTransport } from "./media.ts";
import { createSessionEngine, type Session, toCapabilities } from "./engine.ts";

export interface World {
  send(path: string, body: object, session: Session): Promise<WorldAnswer>;
}

export interface WorldAnswer {
  readonly status: number;
  readonly text: string;
  /** The header `x-harmony-exact`. */
  readonly exact: string | null;
  /** Defects that the application logged. */
  readonly faults: readonly string[];
}

/** A search draws from fewer than 400 combinations in turn. Fewer places would be emptied before the search returns to them. */
const MAX_WORLDS = 1024;
const worlds = new Map<string, World>();

/** `fault`: a planted defect. */
export function worldFor({ wire, engine, settings }: Case, fault?: Fault): World {
  const capabilities = toCapabilities(wire, engine);
  const { contextLength } = engine;
  const key = JSON.stringify([
    engine.isOverHttp ?? capabilities,
    wire,
    contextLength,
    settings,
    fault?.name,
  ]);
  const known = worlds.get(key);
  if (known !== undefined) return known;
  const [oldest] = worlds.keys();
  if (worlds.size >= MAX_WORLDS && oldest !== undefined) worlds.delete(oldest);
  const { layout, ...steering } = settings;
  const world = createWorld({
    settings: {
      ...steering,
      ...VISION_SETTINGS,
      layout,
      defaultMaxOutputTokens: 1200,
      date: "2026-01-31",
    },
    engine: (sessions) =>
      engine.isOverHttp === true
        ? createHttpEngine(wire, sessions)
        : createSessionEngine(capabilities, sessions),
    ...(contextLength !== undefined && { contextLength }),
    ...(fault && { fault }),
  });
  worlds.set(key, world);
  return world;
}

export interface WorldOptions {
  readonly settings: Readonly<Partial<Record<SettingName, unknown>>>;
  readonly engine: (
    sessions: ReadonlyMap<string, Session>,
  ) => ReturnType<typeof createSessionEngine>;
  readonly contextLength?: number;
  readonly fault?: Fault;
}

function createWorld(options: WorldOptions): World {
  const settings = toSettings(options.settings);
  const sessions = new Map<string, Session>();
  let faults: string[] = [];
  let ids = 0;
  const { fault } = options;
  const engine = options.engine(sessions);
  const models = createModels(
    [
      {
        id: "openai/gpt-oss-20b",
        engine: fault ? withFaultyRequests(engine, fault) : engine,
        layout: settings.layout,
        ...(options.contextLength !== undefined && { contextLength: options.contextLength }),
      },
    ],
    { steering: settings, newCallId: () => `call_${String(++ids).padStart(16, "0")}` },
  );
  const app = createApp({
    settings,
    models: fault ? withFault(models, fault) : models,
    transport: visionTransport,
    log: createLog({ level: "error", now: () => 0, write: (line) => faults.push(line) }),
    now: () => 0,
    randomId: () => `id${++ids}`,
  });
  return {
    async send(path, body, session) {
      const id = `req_${++ids}`;
      sessions.set(id, session);
      faults = [];
      try {
        const response = await app.request(path, {
          method: "POST",
          headers: { "content-type": "application/json", "x-request-id": id },
          body: JSON.stringify(body),
        });
        const text = await response.text();
        const exact = response.headers.get("x-harmony-exact");
        return { status: response.status, text, exact, faults };
      } finally {
        sessions.delete(id);
      }
    },
  };
}

/** The defaults with some values replaced, validated like an operator's settings. */
function toSettings(values: WorldOptions["settings"]): Settings {
  const names = settingsSchema.unwrap().keyof();
  const given = Object.entries(values).map(([name, value]) => ({
    name: names.parse(name),
    value,
    source: name,
  }));
  return resolveSettings(given, { public: false });
}
