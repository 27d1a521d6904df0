/** The keyboard commands of a gateway in a terminal. */
import { toBackends } from "../../config/backends.ts";
import type { Settings } from "../../config/settings.ts";
import type { Model } from "../../models/models.ts";
import type { Terminal } from "../console/console-log.ts";
import type { Keys } from "../console/keys.ts";
import { toTable, toWord } from "../console/paint.ts";
import type { Gateway } from "../server/serve.ts";
import { commandName } from "./command-io.ts";
import { spawn } from "node:child_process";
import { once } from "node:events";

interface ServeKeysDeps {
  readonly terminal: Terminal;
  readonly settings: Settings;
  /** Arguments of the command, which `doctor` accepts too. */
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Opens a URL. Default: in the user's browser. */
  readonly open?: (url: string) => Promise<boolean>;
}

type ShownGateway = Pick<Gateway, "origin" | "inspectUrl" | "models">;

export function createServeKeys(gateway: ShownGateway, deps: ServeKeysDeps): Keys {
  const { terminal, settings, open = openInBrowser } = deps;
  const openPage = async (shown: string) => {
    const url = toLoopback(shown);
    const isOpen = await open(url);
    terminal.print(isOpen ? `  Opened ${url}` : `  No browser could be started. Open ${url}`);
  };
  return {
    o: { title: "open the chat", run: () => openPage(`${gateway.origin}/`) },
    i: {
      title: "open the inspector",
      async run() {
        if (gateway.inspectUrl !== undefined) await openPage(gateway.inspectUrl);
        else terminal.print("  The inspector is off: start the gateway with --inspect.");
      },
    },
    c: {
      title: "connect a client: c alone lists them, c codex prints the settings of Codex",
      run: ([client]) => printClient(client, gateway, deps),
    },
    e: {
      title: "what the engines are doing",
      run: () => terminal.print(gateway.models.all.map((model) => describe(model)).join("\n")),
    },
    d: { title: "doctor: examine the engines, without what takes long", run: () => examine(deps) },
    v: {
      title: "more lines in the log, or fewer again",
      run() {
        const isDebug = terminal.toggleDebug();
        terminal.print(
          isDebug ? "  Every entry of the log is shown." : `  The log is at ${settings.log} again.`,
        );
      },
    },
    // Quitting is equal to Ctrl+C.
    q: { title: "quit", run: () => void process.emit("SIGINT") },
  };
}

/** Prints a client's settings. The clients are loaded on demand: serving does not need them. */
async function printClient(
  name: string | undefined,
  { origin: shown, models }: ShownGateway,
  { terminal, settings }: ServeKeysDeps,
): Promise<void> {
  const origin = toLoopback(shown);
  const { CLIENTS } = await import("./connect/clients.ts");
  const client = name !== undefined && Object.hasOwn(CLIENTS, name) ? CLIENTS[name] : undefined;
  if (client === undefined) {
    const rows = Object.entries(CLIENTS).map(
      ([key, { title }]) => `  c ${key.padEnd(12)} ${title}`,
    );
    return terminal.print([...rows, ""].join("\n"));
  }
  const { targetOfModels } = await import("./connect/target.ts");
  const { toText } = await import("./connect/client-settings.ts");
  const { start: _, files, ...rest } = client.settings(targetOfModels(models, origin, settings));
  // The second file, a catalogue, is too long to print.
  const text = toText({ ...rest, ...(files && { files: files.slice(0, 1) }) });
  const gateway = origin === "http://127.0.0.1:8787" ? "" : ` --gateway ${origin}`;
  const more = `${commandName()} connect ${name}${gateway}`;
  terminal.print(`\n${text}\n\n  In another terminal, to write them or to start it: ${more}\n`);
}

/** Replaces an address that stands for all interfaces by one that a client on this machine can use. */
function toLoopback(url: string): string {
  return url.replace(/^http:\/\/(?:0\.0\.0\.0|\[::\])(?=[:/]|$)/, "http://127.0.0.1");
}

function describe({ id, status, pool }: Model): string {
  if (pool === undefined) return `  ${id}: ${status.state}`;
  const waiting = pool.queued > 0 ? `, ${pool.queued} queued` : "";
  const rows = pool.backends.map((each) => [
    `    ${each.id}`,
    each.engine,
    each.health,
    `${each.inFlight} running`,
    `${each.succeeded} done`,
    `${each.failed} failed`,
    toWord(each.health === "up" ? "" : (each.reason ?? "")),
  ]);
  return [`  ${id}: ${status.state}${waiting}`, ...toTable(rows)].join("\n");
}

async function examine({ terminal, settings, args, environment }: ServeKeysDeps): Promise<void> {
  if (toBackends(settings).some(({ engine }) => engine === "llama")) {
    // A second copy of the model would need the same memory again.
    return terminal.print(
      `  The model is in this process. Stop it, and run ${commandName()} doctor instead.`,
    );
  }
  const { runDoctor } = await import("./doctor/command.ts");
  terminal.print("  Asking the engines …");
  await runDoctor(["--quick", ...args], {
    environment,
    print: (text) => terminal.print(text),
    hasColours: false,
  });
}

/** The program that opens a URL, on systems other than Linux. */
const OPENERS = new Map<NodeJS.Platform, readonly [string, ...string[]]>([
  ["darwin", ["open"]],
  ["win32", ["explorer.exe"]],
]);

/** Whether the program for URLs could be started. Its success is not known. */
async function openInBrowser(url: string): Promise<boolean> {
  const [program, ...args] = OPENERS.get(process.platform) ?? ["xdg-open"];
  const child = spawn(program, [...args, url], { stdio: "ignore", detached: true });
  try {
    await once(child, "spawn");
    child.unref();
    return true;
  } catch {
    return false;
  }
}
