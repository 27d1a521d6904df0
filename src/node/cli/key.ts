/** `harmony-gateway key`: creates random keys for clients and for sealing. */
import { createHash, randomBytes } from "node:crypto";
import * as z from "zod";
import { SettingsError } from "../../config/resolve.ts";
import { explainFile, readOrdinaryFile } from "../explain-file.ts";
import { type Command, parseJsonInput } from "./command-io.ts";
import { setJsonValues } from "./connect/edit/json-text.ts";
import { replaceFile } from "./connect/replace-file.ts";
import { readOwnFlags } from "./own-flags.ts";
import { MAX_FILE_BYTES } from "./settings.ts";

const NAME = /^[\w.@][\w.@-]{0,63}$/;

export const KEY: Command = {
  usage: `\
harmony-gateway key [name]                   create a key for a client, and its hash for the setting keys
harmony-gateway key <name> --add <file>      and write the hash into the keys of this config file
harmony-gateway key --sealing                create a key for the setting sealingKeys`,
  run(args, { print }) {
    print(runKey(args));
    return 0;
  },
};

/**
 * Creates the keys and returns the output.
 *
 * @throws TypeError if the arguments are wrong
 * @throws SettingsError if the file cannot take the key
 */
function runKey(args: readonly string[]): string {
  if (args.length === 1 && args[0] === "--sealing") {
    const key = randomBytes(32).toString("base64url");
    return `A sealing key for the setting sealingKeys. Put the newest first. Keep it secret.\n\n${key}\n`;
  }
  const { values, rest } = readOwnFlags(args, { values: { "--add": "a config file" } });
  const [name = "client"] = rest;
  if (rest.length > 1)
    throw new TypeError(`key: give one name for the client, not ${rest.length}.`);
  if (!NAME.test(name)) {
    throw new TypeError(
      `key: ${name} is no name for a client. Use up to 64 letters, digits, dots, dashes, _ or @. ` +
        "For a sealing key: harmony-gateway key --sealing.",
    );
  }
  const key = `hg-${randomBytes(32).toString("base64url")}`;
  const hash = createHash("sha256").update(key).digest("hex");
  const file = values.get("--add");
  if (file !== undefined) addKey(file, name, hash);
  const shown = `Client key, shown only once. Give it to the client now.\n\n${key}\n\n`;
  return file === undefined
    ? `${shown}Its hash, for the setting keys (--keys, HARMONY_GATEWAY_KEYS or the config file).\n\n${name}:${hash}\n`
    : `${shown}Its hash stands in ${file}. A running gateway takes it when it gets SIGHUP (systemctl reload).\n`;
}

/** Schema of the keys in the config file. Their other members are checked when the file is loaded. */
const configFile = z.looseObject({
  keys: z.array(z.union([z.string(), z.looseObject({ name: z.string() })])).optional(),
});

function addKey(file: string, name: string, sha256: string): void {
  try {
    const text = readOrdinaryFile(file, MAX_FILE_BYTES).toString("utf8");
    const { keys = [] } = configFile.parse(parseJsonInput(text, file));
    const names = keys.map((key) => (typeof key === "string" ? key.split(":", 1)[0] : key.name));
    if (names.includes(name)) {
      throw new SettingsError([
        `${file}: keys has ${name} already. Remove it first, or choose another name.`,
      ]);
    }
    const path = ["keys", { member: "name", is: name }];
    replaceFile(file, setJsonValues(text, [{ path, value: { name, sha256 } }]));
  } catch (error) {
    if (error instanceof z.ZodError) {
      throw new SettingsError([`${file}: expected an object whose keys are a list.`]);
    }
    const sentence = explainFile(error, file);
    throw sentence === undefined ? error : new SettingsError([sentence]);
  }
}
