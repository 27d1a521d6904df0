/** The settings of the group `access`: who may use the gateway, and from where. */
import * as z from "zod";
import { clientKey, perKeyNames } from "../client-key.ts";
import { setting } from "../setting.ts";

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
