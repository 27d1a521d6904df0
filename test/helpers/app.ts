/**
 * The application without a server around it: requests go in, responses come out. In the project `workerd` the bundle
 * in its runtime is used instead, unless a test passes a store, which cannot run there.
 */
import { assemble, type AssemblyDeps } from "../../src/gateway.ts";
import {
  createFetchTransport,
  type Engine,
  type GatewayOptions,
  type ModelOptions,
  type Settings,
  type Store,
} from "../../src/index.ts";
import { readCounter } from "./counter.ts";
import { lazyGateway, type LazyGateway, ON_WORKERS, testLog, testSettings } from "./gateway.ts";
import type { Post } from "./tool-loop.ts";

export interface TestAppOptions {
  /** Serves `openai/gpt-oss-20b`. */
  readonly engine: Engine;
  /** Further names of the served models. */
  readonly others?: readonly string[];
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly store?: Store;
  /** Tools that the gateway runs, except on Workers. */
  readonly toolbox?: NonNullable<GatewayOptions["tools"]>;
}

export interface TestApp {
  readonly post: Post;
  /** The value of a counter, `name{label="value"}`; undefined when it was never counted. */
  readonly counter: (sample: string) => Promise<number | undefined>;
  /** The lines of the log, parsed. */
  readonly logged: readonly Record<string, unknown>[];
}

export function createTestApp(options: TestAppOptions): TestApp {
  return ON_WORKERS && options.store === undefined && options.toolbox === undefined
    ? onWorkers(options)
    : inProcess(options);
}

function inProcess({
  engine,
  others = [],
  settings: given,
  store,
  toolbox,
}: TestAppOptions): TestApp {
  const settings = testSettings({ metrics: "open", layout: "reference", ...given });
  const logged: Record<string, unknown>[] = [];
  const names = ["openai/gpt-oss-20b", ...others];
  const models = names.map((id) => ({ id, engine, layout: settings.layout }));
  const app = appOf(settings, models, {
    ...(store && { store }),
    ...(toolbox && { toolbox }),
    log: testLog(logged),
  });
  return {
    logged,
    post: toPost(async (path, init) => app.request(path, init)),
    counter: async (sample) => readCounter(await (await app.request("/metrics")).text(), sample),
  };
}

/** The application of these models, without a log unless `rest` has one. */
export function appOf(
  settings: Settings,
  models: readonly ModelOptions[],
  rest: Partial<AssemblyDeps>,
): ReturnType<typeof assemble>["app"] {
  const { app, enforce } = assemble(settings, {
    models,
    log: testLog(),
    transport: createFetchTransport(),
    ...rest,
  });
  enforce();
  return app;
}

function onWorkers({ engine, others = [], settings }: TestAppOptions): TestApp {
  const gateway = lazyGateway({
    models: ["openai/gpt-oss-20b", ...others].map((id) => ({ id, engine })),
    settings: { log: "debug", metrics: "open", layout: "reference", ...settings },
  });
  return {
    get logged() {
      return gateway.logged;
    },
    post: toPost(gateway.fetch),
    counter: gateway.counter,
  };
}

function toPost(send: LazyGateway["fetch"]): Post {
  return (body, headers = {}) =>
    send("/v1/chat/completions", {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    });
}
