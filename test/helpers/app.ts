/** The application without a server around it: requests go in, responses come out. */
import { createApp } from "../../src/app.ts";
import type { Engine } from "../../src/engines/engine.ts";
import { createLog } from "../../src/log.ts";
import type { Store } from "../../src/store/store.ts";
import { createModels } from "../../src/turn/models.ts";
import { testSettings } from "./gateway.ts";
import type { Post } from "./tool-loop.ts";

export interface TestAppOptions {
  /** Serves `openai/gpt-oss-20b`. */
  readonly engine: Engine;
  /** Further names of models it serves. */
  readonly others?: readonly string[];
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly store?: Store;
}

export interface TestApp {
  readonly post: Post;
  /** The value of a counter, `name{label="value"}`; undefined when it was never counted. */
  readonly counter: (sample: string) => Promise<number | undefined>;
  /** The lines of the log, parsed. */
  readonly logged: Record<string, unknown>[];
}

export function createTestApp({
  engine,
  others = [],
  settings: given,
  store,
}: TestAppOptions): TestApp {
  const settings = testSettings(given);
  const logged: Record<string, unknown>[] = [];
  const randomId = () => crypto.randomUUID().replaceAll("-", "");
  const app = createApp({
    settings,
    models: createModels(
      ["openai/gpt-oss-20b", ...others].map((id) => ({ id, engine })),
      { steering: settings, newCallId: () => `call_${randomId()}` },
    ),
    ...(store && { store }),
    log: createLog({
      level: "debug",
      now: Date.now,
      write: (line) => logged.push(JSON.parse(line)),
    }),
    now: () => new Date(),
    randomId,
  });
  return {
    logged,
    post: async (body, headers = {}) =>
      app.request("/v1/chat/completions", {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify(body),
      }),
    async counter(sample) {
      const text = await (await app.request("/metrics")).text();
      const line = text.split("\n").find((each) => each.startsWith(`harmony_gateway_${sample} `));
      return line === undefined ? undefined : Number(line.split(" ").at(-1));
    },
  };
}
