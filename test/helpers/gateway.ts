/**
 * A gateway on a free port, for tests of clients and APIs. It usually runs in this process; the project `workerd`,
 * which runs the same tests again, uses the real bundle in workerd (see `vitest.config.ts`).
 */
import { onTestFinished } from "vitest";
import {
  type Engine,
  type Log,
  type ModelOptions,
  resolveSettings,
  type Settings,
  settingsSchema,
} from "../../src/index.ts";
import { serveGateway } from "../../src/node/server/serve.ts";
import { readCounter } from "./counter.ts";
import { createLog } from "../../src/telemetry/log.ts";

export interface TestGatewayOptions {
  /** Settings that differ from the defaults, in the form of the config file. */
  readonly settings?: Readonly<Partial<Record<keyof Settings, unknown>>>;
  /**
   * The engine served as `openai/gpt-oss-20b`. Absent, and without `models`: the engine of the settings, by default the
   * demo.
   */
  readonly engine?: Engine;
  /** Several models, or one with another name. */
  readonly models?: readonly ModelOptions[];
}

export interface TestGateway {
  /** The base URL for OpenAI's clients: `http://127.0.0.1:<port>/v1`. */
  readonly baseURL: string;
  /** `http://127.0.0.1:<port>` */
  readonly origin: string;
  /** The lines of the log, parsed. */
  readonly logged: readonly Record<string, unknown>[];
  /** The value of a counter, `name{label="value"}`; undefined when it was never counted. */
  counter(sample: string): Promise<number | undefined>;
  /** Serves new requests by other settings. Not in workerd. */
  reload(settings: NonNullable<TestGatewayOptions["settings"]>): Promise<void>;
  close(): Promise<void>;
}

/** Whether the tests run in workerd, for the few tests that need one runtime. */
export const ON_WORKERS = process.env["TEST_RUNTIME"] === "workerd";

// The module is imported with the test file, because it runs code at the file's end.
const workers = ON_WORKERS ? await import("./worker-gateway.ts") : undefined;

export async function startTestGateway(options: TestGatewayOptions = {}): Promise<TestGateway> {
  const { engine } = options;
  const settings = testSettings({ port: 0, ...options.settings });
  const { layout } = settings;
  const served = engine === undefined ? options.models : [{ id: "openai/gpt-oss-20b", engine }];
  const models = served?.map((model) => ({ layout, ...model }));
  if (workers) return workers.startWorkerGateway(options.settings ?? {}, models);
  const logged: Record<string, unknown>[] = [];
  const gateway = await serveGateway(settings, {
    ...(models !== undefined && { models }),
    log: testLog(logged, settings.log),
  });
  return {
    baseURL: gateway.baseUrl,
    origin: gateway.baseUrl.replace(/\/v1$/, ""),
    logged,
    counter: async (sample) => {
      const response = await fetch(new URL("/metrics", gateway.baseUrl));
      return readCounter(await response.text(), sample);
    },
    reload: (values) => gateway.reload(testSettings({ port: 0, ...values })),
    close: () => gateway.close(),
  };
}

/** The defaults with some values replaced, validated like an operator's settings. */
export function testSettings(values: Readonly<Record<string, unknown>> = {}): Settings {
  const given = Object.entries(values).map(([name, value]) => ({
    name: settingsSchema.unwrap().keyof().parse(name),
    value,
    source: name,
  }));
  return resolveSettings(given, { public: false });
}

/** A log whose entries are appended to `logged`, parsed. Absent: a silent log. */
export function testLog(logged?: Record<string, unknown>[], level: Settings["log"] = "debug"): Log {
  return createLog({
    level: logged === undefined ? "silent" : level,
    now: Date.now,
    write: (line) => logged?.push(JSON.parse(line)),
  });
}

export interface LazyGateway {
  readonly fetch: (path: string, init?: RequestInit) => Promise<Response>;
  readonly logged: readonly Record<string, unknown>[];
  readonly counter: TestGateway["counter"];
}

/** A gateway that starts with its first request and ends with the test, for clients that are created synchronously. */
export function lazyGateway(options: TestGatewayOptions): LazyGateway {
  let starting: Promise<TestGateway> | undefined;
  let gateway: TestGateway | undefined;
  async function start(): Promise<TestGateway> {
    const started = await startTestGateway(options);
    onTestFinished(() => started.close());
    return started;
  }
  return {
    async fetch(path, init) {
      gateway = await (starting ??= start());
      return fetch(gateway.origin + path, init);
    },
    get logged() {
      return gateway?.logged ?? [];
    },
    counter: async (sample) => gateway?.counter(sample),
  };
}
