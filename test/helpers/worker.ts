/** The real bundle in the real Workers runtime, with the configuration that is deployed. */
import { createTestHarness } from "wrangler";
import type { SettingName } from "../../src/config/settings.ts";
import { toVariables } from "./worker-variables.ts";

export interface TestWorker {
  /** `http://127.0.0.1:<port>` */
  readonly origin: string;
  /** Its console output so far, oldest first. */
  readonly lines: readonly string[];
  close(): Promise<void>;
}

// Otherwise each start waits for a description of this machine's place on earth.
process.env["CLOUDFLARE_CF_FETCH_ENABLED"] = "false";
process.env["WRANGLER_SEND_METRICS"] = "false";

/** @param settings that differ from those in `wrangler.toml`. */
export async function startWorker(
  settings: Readonly<Partial<Record<SettingName, unknown>>> = {},
): Promise<TestWorker> {
  const server = createTestHarness({
    workers: [{ configPath: "./wrangler.toml", vars: toVariables(settings) }],
  });
  const { url } = await server.listen();
  return {
    origin: url.origin,
    get lines() {
      return server.getLogs().map(({ message }) => message);
    },
    close: () => server.close(),
  };
}
