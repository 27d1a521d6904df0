/** An operator's value of a setting, and the deployment. */
import type { SettingName } from "./settings.ts";

/** One value from one source. */
export interface SettingInput {
  readonly name: SettingName;
  readonly value: unknown;
  /** The source in the operator's spelling: `--port`, `HARMONY_GATEWAY_PORT`, `port in gateway.json`. */
  readonly source: string;
}

/** The place of the gateway, which determines whether other machines can reach it. */
export interface Deployment {
  /** Other machines reach the gateway for any `host`, as on Workers. */
  readonly public: boolean;
  /** The settings are only displayed, without a server: the location of a model may be unknown. */
  readonly isDry?: boolean;
}
