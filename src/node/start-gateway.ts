/** The whole gateway for programs on Node. Its options are the settings, as in `createGateway`. */
import { type SettingOptions, toOptionInputs } from "../config/option-inputs.ts";
import { resolveSettings } from "../config/resolve.ts";
import type { Settings } from "../config/settings.ts";
import type { ConfiguredKind } from "../engines/create-engine.ts";
import type { Engine } from "../engines/engine.ts";
import { toModel } from "../gateway.ts";
import { createLogWith, type LogEntry } from "../telemetry/log.ts";
import { type Gateway, serveGateway, type ServeOptions } from "./server/serve.ts";

/** Every setting under its own name. */
export interface StartOptions extends Omit<SettingOptions, "engine" | "log"> {
  /** A kind of inference server, or a custom engine. Default: detected at `url`; without it, the built-in demo. */
  readonly engine?: ConfiguredKind | Engine;
  /** The least severe level, written to standard output as JSON lines, or a function for each entry. Default: `info`. */
  readonly log?: Settings["log"] | ((entry: LogEntry) => void);
}

/**
 * Starts the gateway and monitors its engines. Rejects when the port or the store is not available. An unresponsive engine is
 * reported and probed again.
 *
 * @param options settings by name; the result of `loadSettings` is accepted unchanged.
 * @throws SettingsError whose sentences name each invalid option
 */
export async function startGateway(
  options: StartOptions = {},
  serving: ServeOptions = {},
): Promise<Gateway> {
  const { engine, log = "info" } = options;
  const isOwn = typeof engine === "object";
  const inputs = toOptionInputs(options, {
    caller: "startGateway",
    own: [],
    values: {
      engine: isOwn ? undefined : engine,
      log: typeof log === "function" ? "info" : log,
    },
  });
  const settings = resolveSettings(inputs, { public: false });
  return serveGateway(settings, {
    ...(isOwn && { models: [toModel(engine, settings)] }),
    ...(typeof log === "function" && { log: createLogWith(settings.log, log) }),
    ...serving,
  });
}
