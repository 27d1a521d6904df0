/** A gateway, as the settings of a client have to know it. */
export interface SettingsModel {
  readonly id: string;
  readonly contextLength: number;
  /** Output tokens that a client may ask for. Half of the context stays for the prompt. */
  readonly maxOutputTokens: number;
  /** One of the operator's presets. */
  readonly isPreset?: boolean;
  readonly seesImages?: boolean;
}

export interface SettingsTarget {
  /** Without a slash at its end. With a path where a proxy puts the gateway below one. */
  readonly origin: string;
  readonly models: readonly [SettingsModel, ...SettingsModel[]];
  /** Undefined: the gateway needs none. */
  readonly key: string | undefined;
}
