/** Separates the flags of a command from the settings of the gateway. */
import { SettingsError } from "../../config/resolve.ts";

export interface OwnFlags {
  readonly switches: ReadonlySet<string>;
  /** Values by flag. For a repeated flag, the last value. */
  readonly values: ReadonlyMap<string, string>;
  /** All other arguments, in their order. */
  readonly rest: readonly string[];
}

/**
 * Reads `--switch`, `--name value` and `--name=value`.
 *
 * @throws SettingsError if a flag lacks its value
 */
export function readOwnFlags(
  args: readonly string[],
  own: {
    readonly switches?: readonly string[];
    /** Flags that take a value, with the words for that value in errors. */
    readonly values?: Readonly<Record<string, string>>;
  },
): OwnFlags {
  const switches = new Set<string>();
  const values = new Map<string, string>();
  const rest: string[] = [];
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] ?? "";
    const [flag = "", inline] = arg.split(/=(.*)/s, 2);
    if (own.switches?.includes(arg)) switches.add(arg);
    else if (own.values === undefined || !Object.hasOwn(own.values, flag)) rest.push(arg);
    else {
      const value = inline ?? args[++at];
      if (!value || value.startsWith("--")) {
        throw new SettingsError([`${flag}: expected ${own.values[flag]} after it.`]);
      }
      values.set(flag, value);
    }
  }
  return { switches, values, rest };
}
