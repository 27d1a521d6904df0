/** A value of a setting as an operator gives it, and where the gateway runs. */
import type { SettingName } from "./settings.ts";

/** One value from one source. */
export interface SettingInput {
  readonly name: SettingName;
  readonly value: unknown;
  /** The source as the operator wrote it: `--port`, `HARMONY_GATEWAY_PORT`, `port in gateway.json`. */
  readonly source: string;
}

/** Where the gateway runs. Decides whether other machines can reach it. */
export interface Deployment {
  /** Other machines reach the gateway whatever `host` is, as on Workers. */
  readonly public: boolean;
  /** Nothing is served, the settings are only looked at: where a model runs need not be known. */
  readonly isDry?: boolean;
}
