/** One client key, in `keys`. The short form `name:hash` fits a flag or an environment variable. */
import * as z from "zod";
import { lazy } from "../lazy.ts";
import { perKeyFields } from "./setting.ts";
import { harmonySettings } from "./settings/harmony.ts";
import { limitSettings } from "./settings/limits.ts";
import { reasoningSettings } from "./settings/reasoning.ts";
import { storeSettings } from "./settings/store.ts";
import { toolSettings } from "./settings/tools.ts";

const own = lazy(() =>
  perKeyFields({
    ...harmonySettings(),
    ...reasoningSettings(),
    ...toolSettings(),
    ...storeSettings(),
    ...limitSettings(),
  }),
);

/** The settings of which a key may have a value of its own. */
export const perKeyNames = () => Object.keys(own());

/** Of one key. */
const MAX_MODELS = 256;

export const clientKey = lazy(() =>
  z.preprocess(
    fromShortKey,
    z.strictObject(
      {
        name: z
          .string()
          .regex(
            /^[\w.@][\w.@-]{0,63}$/,
            "expected up to 64 letters, digits, dots, dashes, _ or @",
          ),
        sha256: z.string().regex(/^[0-9a-f]{64}$/, "expected a SHA-256 hash in 64 hex digits"),
        expires: z
          .union([z.iso.date(), z.iso.datetime({ offset: true })], {
            error:
              "expected a date such as 2026-12-31, or a time with its zone such as 2026-12-31T18:00:00Z",
          })
          .optional(),
        models: z.array(z.string().min(1)).min(1).max(MAX_MODELS).optional(),
        ...own(),
        record: z.boolean().optional(),
      },
      "expected name:hash, as `harmony-gateway key` prints",
    ),
  ),
);

function fromShortKey(value: unknown): unknown {
  if (typeof value !== "string" || !value.includes(":")) return value;
  const colon = value.lastIndexOf(":");
  return { name: value.slice(0, colon), sha256: value.slice(colon + 1) };
}
