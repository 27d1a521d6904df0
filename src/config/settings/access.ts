/** The settings of the group `access`: client keys and permitted origins. */
import * as z from "zod";
import { perKeyFields, setting } from "../setting.ts";
import { lazy } from "../../lazy.ts";
import { harmonySettings } from "./harmony.ts";
import { limitSettings } from "./limits.ts";
import { reasoningSettings } from "./reasoning.ts";
import { storeSettings } from "./store.ts";
import { toolSettings } from "./tools.ts";

/** The settings that a key may override. */
const own = lazy(() =>
  perKeyFields({
    ...harmonySettings(),
    ...reasoningSettings(),
    ...toolSettings(),
    ...storeSettings(),
    ...limitSettings(),
  }),
);

/** Names of settings that a key can override. */
const perKeyNames = () => Object.keys(own());

/** Maximum models of one key. */
const MAX_MODELS = 256;

/** One client key, in `keys`. The short form `name:hash` fits a flag or an environment variable. */
const clientKey = lazy(() =>
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

export function accessSettings() {
  return {
    keys: setting("access", () => z.array(clientKey()), {
      common: true,
      default: [],
      description:
        "Keys of the clients that may use the gateway: `name:sha256` pairs, or objects with `name`, `sha256`, " +
        "`expires` (a date, whose end in UTC is meant, or a time with its zone), `models` (the only models and presets it may use), `record` (`false`: its content is kept out of recorded turns, traces and logs) and, where this key differs, " +
        `${listPerKey()}. ` +
        "Create one with `harmony-gateway key`. None: no key is required.",
    }),
    open: setting("access", z.boolean, {
      common: true,
      default: false,
      description: "Serve without keys even where other machines can reach the gateway.",
    }),
    allowedHosts: setting("access", () => z.array(z.string().min(1)), {
      default: [],
      description:
        "Host names accepted in addition to addresses, `localhost` and `*.localhost`, while the gateway requires no key and " +
        "listens on loopback only. Protects against web pages that point their own name to it (DNS rebinding).",
    }),
    isolateCaches: setting("access", () => z.enum(["auto", "on", "off"]), {
      default: "auto",
      description:
        "Separate the inference server's prefix cache by key, so that response times do not reveal what other keys have " +
        "sent. A prompt that all keys share is then processed once per key. auto: on with more than one key.",
    }),
    metrics: setting("access", () => z.enum(["key", "open", "off"]), {
      common: true,
      default: "key",
      description:
        "Access to `/metrics`: with a key (without `keys`, open), open, or off. Metrics name models and backends and " +
        "count requests and tokens.",
    }),
    corsOrigins: setting("access", () => z.array(z.string().min(1)), {
      common: true,
      description:
        "Origins of web pages that may call the gateway; `*` is any. Absent: any when `keys` or `open` " +
        "is set, otherwise only pages served from this machine.",
    }),
  };
}

function listPerKey(): string {
  const names = perKeyNames().map((name) => `\`${name}\``);
  return `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}
