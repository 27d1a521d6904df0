/** `harmony-gateway connect <client>`: prints the settings of a client, writes them, or starts the client with them. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { suggest } from "../../../config/suggest.ts";
import type { Command, CommandIo } from "../command-io.ts";
import { type ClientSettings, type ConnectedClient, toExports, toText } from "./client-settings.ts";
import { CLIENTS } from "./clients.ts";
import { askTarget } from "./target.ts";
import { type Client, undoFiles, writeFiles } from "./write-files.ts";

export const CONNECT: Command = {
  usage: `\
harmony-gateway connect <client> [options]            print the client's settings
harmony-gateway connect <client> [options] --write    write them into its files, and show the change
harmony-gateway connect <client> --undo               restore the files
harmony-gateway connect <client> [options] -- <args>  start the client with them, changing no file

Models, presets and context lengths come from the running gateway.

Clients
${Object.entries(CLIENTS)
  .map(([name, { title }]) => `  ${name.padEnd(12)} ${title}`)
  .join("\n")}

Options
  --gateway <url>  where clients reach the gateway [http://127.0.0.1:8787]
  --key <key>      the client's key; better in the variable HARMONY_GATEWAY_KEY
  --write          change the client's files below the home folder; all else in them stays
  --undo           restore what --write has changed`,
  run: runConnect,
};

type ConnectIo = Pick<CommandIo, "environment" | "print" | "home">;

/** Resolves with the exit code. Throws an error with one sentence if the arguments are wrong or no gateway answers. */
async function runConnect(args: readonly string[], io: ConnectIo): Promise<number> {
  const end = args.indexOf("--");
  const own = end < 0 ? args : args.slice(0, end);
  const { values, positionals } = parseArgs({
    args: [...own],
    options: {
      gateway: { type: "string", default: "http://127.0.0.1:8787" },
      key: { type: "string" },
      write: { type: "boolean", default: false },
      undo: { type: "boolean", default: false },
    },
    allowPositionals: true,
  });
  if ([values.write, values.undo, end >= 0].filter(Boolean).length > 1) {
    throw new TypeError("connect: use one of --write, --undo and --.");
  }
  const [given, ...others] = positionals;
  const [name, client] = findClient(given, others);
  const changed = { name, title: client.title, home: io.home };
  if (values.undo) {
    const { text, isComplete } = undoFiles(changed);
    io.print(text);
    return isComplete ? 0 : 1;
  }
  const key = values.key ?? io.environment["HARMONY_GATEWAY_KEY"];
  const target = await askTarget(toOrigin(values.gateway), key);
  const settings = client.settings(target);
  if (end >= 0) return startClient(client.title, settings, args.slice(end + 1), io);
  if (values.write) refuseMovedFolders(client.title, settings, io.environment);
  io.print(values.write ? writeSettings(settings, changed) : toText(settings));
  return 0;
}

/** Writes the files. Clients read the key from the variable that a file names, in the user's shell. */
function writeSettings({ files, keyVariable }: ClientSettings, client: Client): string {
  const written = writeFiles(files, client);
  if (keyVariable === undefined) return written;
  return `${written}\n\nThe files do not contain the key. Set this variable before you start ${client.title}:\n\n${toExports(keyVariable)}`;
}

/** Variables that move a folder of clients away from the home folder. */
const MOVED_BY = new Map([
  [".claude", "CLAUDE_CONFIG_DIR"],
  [".codex", "CODEX_HOME"],
  [".config", "XDG_CONFIG_HOME"],
]);

/** Refuses to write files that the client would not read. */
function refuseMovedFolders(
  title: string,
  { files = [] }: ClientSettings,
  environment: ConnectIo["environment"],
): void {
  for (const { path } of files) {
    const folder = path.slice(0, path.indexOf("/"));
    const variable = MOVED_BY.get(folder);
    const moved = variable && environment[variable];
    if (!moved) continue;
    throw new TypeError(
      `${title} reads ${moved} in place of ~/${folder}, because ${variable} is set. Nothing was written. Leave out --write, and copy what is printed.`,
    );
  }
}

const ALIASES = new Map([["claude", "claude-code"]]);

function findClient(
  given: string | undefined,
  others: readonly string[],
): readonly [name: string, client: ConnectedClient] {
  const known = Object.keys(CLIENTS);
  const list = `Clients: ${known.join(", ")}.`;
  if (given === undefined) throw new TypeError(`connect: name a client. ${list}`);
  if (others.length > 0) {
    throw new TypeError(`connect: name one client; its own arguments follow --. ${list}`);
  }
  const name = ALIASES.get(given) ?? given;
  const client = Object.hasOwn(CLIENTS, name) ? CLIENTS[name] : undefined;
  if (client !== undefined) return [name, client];
  throw new TypeError(`connect: there is no client ${name}.${suggest(name, known) || ` ${list}`}`);
}

/** Removes the `/v1` that users often copy along. */
function toOrigin(gateway: string): string {
  if (!URL.canParse(gateway) || !/^https?:$/.test(new URL(gateway).protocol)) {
    throw new TypeError(
      `--gateway: expected a URL that begins with http:// or https://, got ${JSON.stringify(gateway)}.`,
    );
  }
  const { origin, pathname } = new URL(gateway);
  return origin + pathname.replace(/\/+$/, "").replace(/\/v1$/, "");
}

async function startClient(
  title: string,
  { start }: ClientSettings,
  args: readonly string[],
  { environment }: ConnectIo,
): Promise<number> {
  if (start === undefined) {
    throw new TypeError(
      `${title} is not started from here. Leave out --, and copy what is printed.`,
    );
  }
  const [command, ...first] = start.command;
  const folder = start.file && mkdtempSync(join(tmpdir(), "harmony-gateway-"));
  if (start.file !== undefined && folder !== undefined) {
    const path = join(folder, "models.json");
    writeFileSync(path, start.file.text);
    first.push(...start.file.toArguments(path));
  }
  // The handler comes first: a signal may arrive as soon as the client runs.
  const passOn = () => void child.kill("SIGTERM");
  process.on("SIGINT", stayForClient).on("SIGTERM", passOn);
  const child = spawn(command, [...first, ...args], {
    stdio: "inherit",
    env: { ...environment, ...start.variables },
  });
  try {
    const [code] = await once(child, "exit");
    return typeof code === "number" ? code : 1;
  } catch {
    throw new TypeError(`${title} is not installed: there is no program ${command} in the path.`);
  } finally {
    process.off("SIGINT", stayForClient).off("SIGTERM", passOn);
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  }
}

/** Ignores Ctrl+C: the client receives it as well and decides. This process ends after the client. */
function stayForClient(): void {}
