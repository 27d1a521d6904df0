/** `harmony-gateway key`: creates random keys for clients and for sealing. */
import { createHash, randomBytes } from "node:crypto";
import type { Command } from "./command-io.ts";

const NAME = /^[\w.@][\w.@-]{0,63}$/;

export const KEY: Command = {
  usage: `\
harmony-gateway key [name]       create a key for a client, and its hash for the setting keys
harmony-gateway key --sealing    create a key for the setting sealingKeys`,
  run(args, { print }) {
    print(runKey(args));
    return 0;
  },
};

/** The output. Throws a `TypeError` when the arguments are wrong. */
export function runKey(args: readonly string[]): string {
  if (args.length === 1 && args[0] === "--sealing") {
    const key = randomBytes(32).toString("base64url");
    return `A sealing key for the setting sealingKeys. Put the newest first. Keep it secret.\n\n${key}\n`;
  }
  const [name = "client"] = args;
  if (args.length > 1)
    throw new TypeError(`key: give one name for the client, not ${args.length}.`);
  if (!NAME.test(name)) {
    throw new TypeError(
      `key: ${name} is no name for a client. Use up to 64 letters, digits, dots, dashes, _ or @. ` +
        "For a sealing key: harmony-gateway key --sealing.",
    );
  }
  const key = `hg-${randomBytes(32).toString("base64url")}`;
  const hash = createHash("sha256").update(key).digest("hex");
  return `\
Client key, shown only once. Give it to the client now.

${key}

Its hash, for the setting keys (--keys, HARMONY_GATEWAY_KEYS or the config file).

${name}:${hash}
`;
}
