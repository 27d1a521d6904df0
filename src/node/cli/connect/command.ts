/** `harmony-gateway connect <client>`: prints the settings of a client, writes them, or starts the client with them. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { suggest } from "../../../config/suggest.ts";
import { CLIENTS, type ClientSettings } from "./clients.ts";
import { askTarget } from "./target.ts";

export const CONNECT_USAGE = `\
harmony-gateway connect <client> [options]            print the client's settings
harmony-gateway connect <client> [options] --write    write them, where no file of the name exists
harmony-gateway connect <client> [options] -- <args>  start the client with them, changing no file

Models and context lengths come from the running gateway.

Clients
${Object.entries(CLIENTS)
  .map(([name, { title }]) => `  ${name.padEnd(12)} ${title}`)
  .join("\n")}

Options
  --gateway <url>  where clients reach the gateway [http://127.0.0.1:8787]
  --key <key>      the client's key; better in the variable HARMONY_GATEWAY_KEY
  --write          write files below the home folder; existing ones are left as they are`;

export interface ConnectIo {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly print: (text: string) => void;
  /** Default: the user's. */
  readonly home?: string;
}

/** Resolves with the exit code. Throws an error with one sentence if the arguments are wrong or no gateway answers. */
export async function runConnect(args: readonly string[], io: ConnectIo): Promise<number> {
  const end = args.indexOf("--");
  const own = end < 0 ? args : args.slice(0, end);
  const { values, positionals } = parseArgs({
    args: [...own],
    options: {
      gateway: { type: "string", default: "http://127.0.0.1:8787" },
      key: { type: "string" },
      write: { type: "boolean", default: false },
    },
    allowPositionals: true,
  });
  const [name, ...others] = positionals;
  const client = findClient(name, others);
  const key = values.key ?? io.environment["HARMONY_GATEWAY_KEY"];
  const target = await askTarget(toOrigin(values.gateway), key);
  const settings = client.settings(target);
  if (end >= 0) return startClient(client.title, settings, args.slice(end + 1), io);
  if (values.write) io.print(writeFiles(client.title, settings, io.home ?? homedir()));
  else io.print(toText(settings));
  return 0;
}

function findClient(name: string | undefined, others: readonly string[]) {
  const known = Object.keys(CLIENTS);
  const list = `Clients: ${known.join(", ")}.`;
  if (name === undefined) throw new TypeError(`connect: name a client. ${list}`);
  if (others.length > 0) {
    throw new TypeError(`connect: name one client; its own arguments follow --. ${list}`);
  }
  const client = CLIENTS[name === "claude" ? "claude-code" : name];
  if (client !== undefined && known.includes(name === "claude" ? "claude-code" : name))
    return client;
  throw new TypeError(`connect: there is no client ${name}.${suggest(name, known) || ` ${list}`}`);
}

/** Without the `/v1` that users copy along. */
function toOrigin(gateway: string): string {
  if (!URL.canParse(gateway) || !/^https?:$/.test(new URL(gateway).protocol)) {
    throw new TypeError(
      `--gateway: expected a URL that begins with http:// or https://, got ${JSON.stringify(gateway)}.`,
    );
  }
  const { origin, pathname } = new URL(gateway);
  return origin + pathname.replace(/\/+$/, "").replace(/\/v1$/, "");
}

function toText({ files = [], variables, text, program }: ClientSettings): string {
  const blocks = files.map((file) => `# ~/${file.path}\n${file.text}`);
  // A client that has a file needs variables for its key alone.
  const shown = Object.entries(variables ?? {}).filter(
    ([name]) => files.length === 0 || name === "HARMONY_GATEWAY_KEY",
  );
  if (shown.length > 0) {
    blocks.push(shown.map(([name, value]) => `export ${name}=${quote(value)}`).join("\n"));
  }
  if (text !== undefined) blocks.push(text);
  if (program !== undefined)
    blocks.push(`# To start it with these settings: add -- to this command`);
  return blocks.join("\n\n");
}

/** A file may hold other settings of the user: it is never changed. */
function writeFiles(title: string, { files }: ClientSettings, home: string): string {
  if (files === undefined) {
    throw new TypeError(
      `${title} has no settings file. Leave out --write, and copy what is printed.`,
    );
  }
  const lines = files.map(({ path, text }) => {
    const file = join(home, path);
    mkdirSync(dirname(file), { recursive: true });
    try {
      // A key may stand in it.
      writeFileSync(file, `${text}\n`, { flag: "wx", mode: 0o600 });
      return `~/${path}: written.`;
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
      return `~/${path}: exists and was left as it is. Without --write, its lines are printed.`;
    }
  });
  return lines.join("\n");
}

async function startClient(
  title: string,
  { program, variables }: ClientSettings,
  args: readonly string[],
  { environment }: ConnectIo,
): Promise<number> {
  if (program === undefined) {
    throw new TypeError(
      `${title} is not started from here. Leave out --, and copy what is printed.`,
    );
  }
  const [command, ...first] = program;
  const child = spawn(command, [...first, ...args], {
    stdio: "inherit",
    env: { ...environment, ...variables },
  });
  try {
    const [code] = await once(child, "exit");
    return typeof code === "number" ? code : 1;
  } catch {
    throw new TypeError(`${title} is not installed: there is no program ${command} in the path.`);
  }
}

function quote(value: string): string {
  return /^[\w.:/@-]+$/.test(value) ? value : `'${value.replaceAll("'", String.raw`'\''`)}'`;
}
