/** Settings as the options of a function, each under its own name. */
import type * as z from "zod";
import { describedSettings } from "./describe.ts";
import { SettingsError } from "./resolve.ts";
import type { SettingInput } from "./setting-input.ts";
import type { SettingName, settingsSchema } from "./settings.ts";
import { suggest } from "./suggest.ts";

export type SettingOptions = Partial<z.input<typeof settingsSchema>>;

export interface OptionRules {
  /** Name of the function for messages. */
  readonly caller: string;
  /** Options that are not settings. */
  readonly own: readonly string[];
  /** The function starts no server: the server's settings are options of `startGateway` only. */
  readonly isEmbedded?: true;
  /** Values of settings whose options have another type. */
  readonly values: Readonly<Partial<Record<SettingName, unknown>>>;
}

/**
 * Converts options to inputs. Resolved settings are accepted as options: beside `backends`, a single setting with its default
 * value counts as not given.
 *
 * @throws SettingsError that names each unknown option, and a similar known one
 */
export function toOptionInputs(
  options: object,
  { caller, own, isEmbedded, values }: OptionRules,
): SettingInput[] {
  const described = describedSettings().filter(({ ofServer }) => !(isEmbedded && ofServer));
  const known: readonly string[] = [...own, ...described.map(({ name }) => name)];
  const problems = Object.keys(options)
    .filter((name) => !known.includes(name))
    .map((name) =>
      describedSettings().some((each) => each.name === name)
        ? `${caller}: ${name} is an option of startGateway (harmony-gateway/node) only.`
        : `${caller}: there is no option ${name}.${suggest(name, known)}`,
    );
  if (problems.length > 0) throw new SettingsError(problems);
  const given = new Map<string, unknown>([...Object.entries(options), ...Object.entries(values)]);
  const backends = given.get("backends");
  const hasBackends = Array.isArray(backends) && backends.length > 0;
  return described.flatMap(({ name, defaultValue }) => {
    const value = given.get(name);
    const isDefault = JSON.stringify(value) === JSON.stringify(defaultValue);
    if (value === undefined || (hasBackends && isDefault)) return [];
    return { name, value, source: `${caller}: ${name}` };
  });
}
