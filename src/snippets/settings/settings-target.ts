/** A gateway as the settings of a client need it. */
export interface SettingsModel {
  readonly id: string;
  readonly contextLength: number;
  /** Maximum output tokens that a client may request. Half of the context stays for the prompt. */
  readonly maxOutputTokens: number;
  /** The model is one of the operator's presets. */
  readonly isPreset?: boolean;
  readonly seesImages?: boolean;
}

export interface SettingsTarget {
  /** The URL without a slash at its end. It has a path where a proxy serves the gateway below one. */
  readonly origin: string;
  readonly models: readonly [SettingsModel, ...SettingsModel[]];
  /** Undefined: the gateway needs no key. */
  readonly key: string | undefined;
}
