/** The settings as a list: names, kinds and words, for help, docs and messages. Read off the schema. */
import { z } from "zod";
import { settingsSchema, type SettingGroup, type SettingName } from "../config.ts";

export interface SettingDescription {
  readonly name: SettingName;
  /** `--max-body-bytes` */
  readonly flag: string;
  /** `HARMONY_GATEWAY_MAX_BODY_BYTES` */
  readonly variable: string;
  readonly group: SettingGroup;
  readonly description: string;
  /** Undefined: not set. */
  readonly defaultValue: unknown;
  readonly secret: boolean;
  readonly kind: SettingKind;
  /** The values of a choice. */
  readonly choices: readonly string[];
  /** What a value looks like, in words: `a whole number from 0 to 65535`. */
  readonly expected: string;
  /** Keys of the objects in a list of objects, for suggestions. */
  readonly itemKeys: readonly string[];
}

/** How a setting is written as text, on a command line or in a variable. */
export type SettingKind = "boolean" | "number" | "choice" | "text" | "list";

export const VARIABLE_PREFIX = "HARMONY_GATEWAY_";

/** What the JSON Schema made from a setting's schema may hold. */
const property = z.looseObject({
  group: z.custom<SettingGroup>((value) => typeof value === "string"),
  description: z.string(),
  default: z.unknown().optional(),
  secret: z.boolean().default(false),
  expected: z.string().optional(),
  type: z.string().optional(),
  enum: z.array(z.string()).optional(),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
  format: z.string().optional(),
  items: z.looseObject({ properties: z.record(z.string(), z.unknown()).optional() }).optional(),
});

type Property = z.infer<typeof property>;

/** All settings, in the order of the schema. */
export const SETTINGS: readonly SettingDescription[] = describeSettings();

function describeSettings(): SettingDescription[] {
  const { properties = {} } = z.toJSONSchema(settingsSchema);
  return settingsSchema.keyof().options.map((name) => {
    const each = property.parse(properties[name]);
    const words = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    return {
      name,
      flag: `--${words}`,
      variable: VARIABLE_PREFIX + words.replaceAll("-", "_").toUpperCase(),
      group: each.group,
      description: each.description,
      defaultValue: each.default,
      secret: each.secret,
      kind: toKind(each),
      choices: each.enum ?? [],
      expected: each.expected ?? toExpected(each),
      itemKeys: Object.keys(each.items?.properties ?? {}),
    };
  });
}

function toKind(each: Property): SettingKind {
  if (each.enum !== undefined) return "choice";
  if (each.type === "boolean") return "boolean";
  if (each.type === "integer") return "number";
  if (each.type === "array") return "list";
  return "text";
}

function toExpected(each: Property): string {
  if (each.enum !== undefined) return `one of ${each.enum.join(", ")}`;
  if (each.type === "boolean") return "true or false";
  if (each.type === "integer") {
    // Without a bound of its own, an integer gets the largest safe one.
    return each.maximum === undefined || each.maximum === Number.MAX_SAFE_INTEGER
      ? `a whole number, ${each.minimum} or more`
      : `a whole number from ${each.minimum} to ${each.maximum}`;
  }
  if (each.type === "array") return "a list";
  return each.format === "uri" ? "an http or https URL" : "some text";
}
