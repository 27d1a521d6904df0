/**
 * `harmony-gateway store`: counts the entries of the store's file, removes expired ones, and deletes all entries of a client key.
 */
import { SettingsError } from "../../config/resolve.ts";
import { suggest } from "../../config/suggest.ts";
import type { Settings } from "../../config/settings.ts";
import { toTable } from "../console/paint.ts";
import { openFile, sqlitePath } from "../open-store.ts";
import type { SqliteStore } from "../sqlite/sqlite-store.ts";
import type { Command } from "./command-io.ts";
import { readOwnFlags } from "./own-flags.ts";
import { loadSettings } from "./settings.ts";

export const STORE: Command = {
  usage: `\
harmony-gateway store stats | prune | delete --key <name> [settings]

For the file of the setting store (--store sqlite:state.db, or --config). Gateways may have it open meanwhile.

  stats         print the entries and bytes of each client key, and the size of the file
  prune         remove expired entries, and write the file anew without their space
  delete        delete everything of one client key, in the file and its log
  --key <name>  the name of the key; anonymous where the gateway has no keys

prune and delete hold up writes of the gateways while the file is written anew.`,
  async run(args, { environment, print }) {
    print(await runStore(args, environment));
    return 0;
  },
};

const ACTIONS = ["stats", "prune", "delete"];

/** Maximum wait for locks of gateways that use the file, and for its compaction. */
const PATIENCE_MS = 120_000;

interface Opened {
  readonly file: SqliteStore;
  readonly path: string;
  readonly settings: Settings;
}

/** Runs the action and returns the output. */
export async function runStore(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
  open = openFile,
): Promise<string> {
  const [action = "", ...rest] = args;
  const { values, rest: flags } = readOwnFlags(rest, {
    values: { "--key": "the name of a client key" },
  });
  const key = values.get("--key");
  if (!ACTIONS.includes(action)) {
    throw new SettingsError([
      `store: expected stats, prune or delete after it.${suggest(action, ACTIONS)}`,
    ]);
  }
  if ((action === "delete") !== (key !== undefined)) {
    throw new SettingsError([
      key === undefined
        ? "store delete: name the client key whose data goes, with --key <name>."
        : `store ${action}: --key belongs to store delete.`,
    ]);
  }
  const { settings } = loadSettings(flags, environment, { public: false, isDry: true });
  const path = sqlitePath(settings);
  if (path === undefined) {
    throw new SettingsError([
      "store: only a file can be looked into. Name it: --store sqlite:state.db. " +
        "The store memory ends with its process; the others remove entries after storeTtlSeconds.",
    ]);
  }
  const file = await open(path, settings, { mayCreate: false, timeoutMs: PATIENCE_MS });
  try {
    const opened = { file, path, settings };
    if (key !== undefined) return await deleteKey(key, opened);
    return action === "prune" ? await prune(opened) : await describe(opened);
  } finally {
    await file.close();
  }
}

async function describe({ file, path }: Opened): Promise<string> {
  const { entries, bytes, expired, fileBytes, tenants } = await file.counts();
  const rows = tenants
    .toSorted((a, b) => b.bytes - a.bytes)
    .map((each) => [each.tenant, String(each.entries), String(each.bytes)]);
  return [
    `${path}: ${entriesOf(entries)} (expired: ${expired}), ${bytes} bytes in a file of ${fileBytes} bytes`,
    ...toTable([["key", "entries", "bytes"], ...rows]),
  ].join("\n");
}

async function prune({ file, path }: Opened): Promise<string> {
  const removed = await file.prune();
  const done = `Removed ${entriesOf(removed, "expired ")}`;
  await rewrite(file, done);
  const { fileBytes } = await file.counts();
  return `${done}. ${path} has ${fileBytes} bytes.`;
}

async function deleteKey(name: string, { file, path, settings }: Opened): Promise<string> {
  const { tenants } = await file.counts();
  const names = [...settings.keys.map((key) => key.name), ...tenants.map(({ tenant }) => tenant)];
  if (!names.includes(name)) {
    throw new SettingsError([
      `store delete: there is no key ${name} in the settings, and nothing of it in ${path}.${suggest(name, names)}`,
    ]);
  }
  const { entries, bytes } = await file.deleteTenant(name);
  const done = `Deleted ${entriesOf(entries)} of ${name}`;
  await rewrite(file, done);
  return `${done}, ${bytes} bytes. Nothing of that is left in ${path} and its log.`;
}

function entriesOf(count: number, kind = ""): string {
  return `${count} ${kind}${count === 1 ? "entry" : "entries"}`;
}

async function rewrite(file: SqliteStore, done: string): Promise<void> {
  const left = "but parts of that may be left in free space of the file";
  let isErased: boolean;
  try {
    isErased = await file.rewrite();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`${done}, ${left}. Run harmony-gateway store prune. ${reason}`, {
      cause: error,
    });
  }
  if (isErased) return;
  throw new Error(`${done}, ${left}: a gateway is reading it. Run harmony-gateway store prune.`);
}
