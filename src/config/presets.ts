/** The setting `presets`: model names with settings of a request. */
import * as z from "zod";
import type { NeutralParameter } from "../engines/sampling.ts";
import { TRAINED_TOOLS } from "../harmony/trained-tools.ts";
import { lazy } from "../lazy.ts";
import type { Preset } from "../turn/preset.ts";
import { count } from "./setting.ts";
import { harmonySettings } from "./settings/harmony.ts";
import { toolSettings } from "./settings/tools.ts";

const MAX_PRESETS = 256;
const MAX_INSTRUCTIONS = 100_000;

/** Values that a request can have too, and that can be locked. */
const values = lazy(() => ({
  effort: z.enum(["none", "low", "medium", "high"]).optional(),
  ...samplingValues(),
  maxOutputTokens: count().optional(),
}));

const samplingValues = lazy(
  () =>
    ({
      temperature: z.number().min(0).max(2).optional(),
      topP: z.number().min(0).max(1).optional(),
      topK: z.int().min(0).optional(),
      minP: z.number().min(0).max(1).optional(),
      frequencyPenalty: z.number().min(-2).max(2).optional(),
      presencePenalty: z.number().min(-2).max(2).optional(),
      repetitionPenalty: z.number().gt(0).max(2).optional(),
    }) satisfies Record<NeutralParameter, z.ZodType>,
);

const preset = lazy(() =>
  z.strictObject({
    model: z.string().min(1),
    ...values(),
    instructions: z.string().min(1).max(MAX_INSTRUCTIONS).optional(),
    nameShield: harmonySettings().nameShield.type().optional(),
    trainedTools: toolSettings().trainedTools.type().optional(),
    builtinTools: z.array(z.enum(TRAINED_TOOLS)).optional(),
    lock: z.array(z.enum(keysOf(values()))).default([]),
    description: z.string().max(1000).default(""),
    unlisted: z.boolean().default(false),
  }),
);

export const presets = lazy(() =>
  z
    .record(z.string().regex(/^\w[\w.:/-]{0,127}$/), preset(), {
      error: ({ code }) =>
        code === "invalid_key"
          ? "expected up to 128 letters, digits, dots, dashes, slashes, colons or _ as its name"
          : undefined,
    })
    .refine((all) => Object.keys(all).length <= MAX_PRESETS),
);

interface WithPresets {
  readonly presets: z.output<ReturnType<typeof presets>>;
}

/** The presets of the settings, with their names. */
export function toPresets(settings: WithPresets): readonly Preset[] {
  return Object.entries(settings.presets).map(([name, each]) => ({ ...each, name }));
}

function keysOf<T extends object>(shape: T): (keyof T & string)[];
function keysOf(shape: object): string[] {
  return Object.keys(shape);
}
