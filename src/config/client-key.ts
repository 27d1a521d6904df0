/** One client key, in `keys`. The short form `name:hash` fits a flag or an environment variable. */
import * as z from "zod";
import { lazy } from "../lazy.ts";
import { bytes, count } from "./setting.ts";

export const reasoningPolicy = () => z.enum(["raw", "sealed", "summary", "none"]);
export const nameShield = () => z.enum(["off", "on"]);
export const trainedTools = () => z.enum(["off", "direct"]);
export const reasoningEvents = () => z.enum(["reasoning_text", "reasoning"]);

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
        reasoningPolicy: reasoningPolicy().optional(),
        reasoningContentMirror: z.boolean().optional(),
        reasoningEvents: reasoningEvents().optional(),
        nameShield: nameShield().optional(),
        maxQueuedPerKey: z.int().min(0).optional(),
        maxConcurrentPerKey: count().optional(),
        maxBackgroundPerKey: count().optional(),
        maxSocketsPerKey: count().optional(),
        storeMaxBytesPerKey: bytes().optional(),
        storeMaxEntriesPerKey: count().optional(),
        trainedTools: trainedTools().optional(),
        maxBuiltinCallsPerKey: count().optional(),
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
