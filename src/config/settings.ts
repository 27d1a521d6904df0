/**
 * Every setting of the gateway, in one schema. Flags, environment variables, `--help`, the table in
 * `docs/settings.md` and the list printed at start are all generated from it. To add a setting, add one line
 * to its group in `settings/` and read it where it is needed.
 *
 * `node/settings.ts` and `worker.ts` collect the values, `config/resolve.ts` merges and checks them.
 */
import * as z from "zod";
import { lazy } from "../lazy.ts";
import { accessSettings } from "./settings/access.ts";
import { apiSettings } from "./settings/api.ts";
import { engineSettings } from "./settings/engine.ts";
import { harmonySettings } from "./settings/harmony.ts";
import { inspectSettings } from "./settings/inspect.ts";
import { limitSettings } from "./settings/limits.ts";
import { listeningSettings } from "./settings/listening.ts";
import { logSettings } from "./settings/log.ts";
import { reasoningSettings } from "./settings/reasoning.ts";
import { steeringSettings } from "./settings/steering.ts";
import { storeSettings } from "./settings/store.ts";
import { toolSettings } from "./settings/tools.ts";

// `z.lazy` keeps the schema that it parses with, and makes another one for each `unwrap`.
export const settingsSchema = z.lazy(
  lazy(() =>
    z.strictObject({
      ...listeningSettings(),
      ...engineSettings(),
      ...harmonySettings(),
      ...steeringSettings(),
      ...reasoningSettings(),
      ...apiSettings(),
      ...toolSettings(),
      ...storeSettings(),
      ...accessSettings(),
      ...limitSettings(),
      ...logSettings(),
      ...inspectSettings(),
    }),
  ),
);

export type Settings = z.output<typeof settingsSchema>;

export type SettingName = keyof Settings;
