/** One configured engine, in `backends`. */
import * as z from "zod";
import { CONFIGURED_KINDS } from "../engines/create-engine.ts";
import { lazy } from "../lazy.ts";
import { count, url } from "./setting.ts";

export const engineKind = () => z.enum(CONFIGURED_KINDS);

export const backendEntry = lazy(() =>
  z.strictObject({
    name: z
      .string()
      .regex(/^[\w.-]{1,64}$/, "expected up to 64 letters, digits, dots, dashes or _")
      .optional(),
    engine: engineKind().default("auto"),
    url: url().optional(),
    model: z.string().min(1).optional(),
    engineKey: z.string().min(1).optional(),
    servedName: z.string().min(1).optional(),
    aliases: z.array(z.string().min(1)).default([]),
    contextLength: count().optional(),
    maxConcurrent: count().optional(),
    tokenEndpoint: z.boolean().default(false),
    headers: z.record(z.string(), z.string()).optional(),
    extraBody: z.record(z.string(), z.unknown()).optional(),
  }),
);
