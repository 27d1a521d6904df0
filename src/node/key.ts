/** `harmony-gateway key`: creates random keys for clients and for sealing. */
import { createHash, randomBytes } from "node:crypto";

const NAME = /^[\w.@][\w.@-]{0,63}$/;

/** The output. Undefined when the arguments are wrong. */
export function runKey(args: readonly string[]): string | undefined {
  if (args.length === 1 && args[0] === "--sealing") {
    const key = randomBytes(32).toString("base64url");
    return `A sealing key for the setting sealingKeys. Put the newest first. Keep it secret.\n\n${key}\n`;
  }
  const [name = "client"] = args;
  if (args.length > 1 || !NAME.test(name)) return undefined;
  const key = `hg-${randomBytes(32).toString("base64url")}`;
  const hash = createHash("sha256").update(key).digest("hex");
  return `\
The key, for the client. It is not kept anywhere: hand it over now.

${key}

Its hash, for the setting keys (--keys, HARMONY_GATEWAY_KEYS or the config file).

${name}:${hash}
`;
}
