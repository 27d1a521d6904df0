/** A gateway in this process, on a free port: what client tests and runtime tests talk to. */
import { resolveSettings } from "../../src/config/resolve.ts";
import { type SettingName, type Settings, settingsSchema } from "../../src/config.ts";
import type { Engine } from "../../src/engines/engine.ts";
import { startGateway } from "../../src/node/serve.ts";
import type { ModelOptions } from "../../src/turn/models.ts";

export interface TestGatewayOptions {
  /** Settings that differ from the defaults, as they would stand in the config file. */
  readonly settings?: Readonly<Partial<Record<SettingName, unknown>>>;
  /** Served as `openai/gpt-oss-20b`. Absent, and without `models`: what the settings say, the demo engine. */
  readonly engine?: Engine;
  /** Several models, or one with a name of its own. */
  readonly models?: readonly ModelOptions[];
}

export interface TestGateway {
  /** For OpenAI's clients: `http://127.0.0.1:<port>/v1`. */
  readonly baseURL: string;
  /** `http://127.0.0.1:<port>` */
  readonly origin: string;
  /** What was told to the operator. */
  readonly printed: string[];
  /** The lines of the log, parsed. */
  readonly logged: Record<string, unknown>[];
  close(): Promise<void>;
}

export async function startTestGateway(options: TestGatewayOptions = {}): Promise<TestGateway> {
  const { engine } = options;
  const models = engine === undefined ? options.models : [{ id: "openai/gpt-oss-20b", engine }];
  const printed: string[] = [];
  const logged: Record<string, unknown>[] = [];
  const gateway = await startGateway(testSettings({ port: 0, ...options.settings }), {
    ...(models !== undefined && { models }),
    print: (text) => printed.push(text),
    writeLog: (line) => logged.push(JSON.parse(line)),
  });
  return {
    baseURL: gateway.baseUrl,
    origin: gateway.baseUrl.replace(/\/v1$/, ""),
    printed,
    logged,
    close: () => gateway.close(),
  };
}

/** The defaults with some values replaced, checked as an operator's are. */
export function testSettings(values: Readonly<Record<string, unknown>> = {}): Settings {
  const given = Object.entries(values).map(([name, value]) => ({
    name: settingsSchema.keyof().parse(name),
    value,
    source: name,
  }));
  return resolveSettings(given, { public: false });
}
