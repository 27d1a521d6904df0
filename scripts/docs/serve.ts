/** Runs a documented command that serves: on a free port, over a stand-in for the inference server it names. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { createDemoEngine } from "../../src/engines/demo.ts";
import { type EngineServer, startEngineServer } from "../../test/helpers/engine-server.ts";
import { startFakeUpstream } from "../../test/helpers/fake-upstream.ts";
import type { ReadCommand } from "./read-command.ts";

export interface Served {
  readonly origin: string;
  /** The observed result, for the report. */
  readonly seen: string;
  stop(): Promise<void>;
}

const START_TIMEOUT_MS = 120_000;

export interface ServeOptions {
  readonly home: string;
  /** Start it with `npm start`, which finds programs in these folders only. Default: the sources, with this Node. */
  readonly path?: string | undefined;
}

/** Rejects if it does not start, or does not answer. */
export async function serve(
  root: string,
  { args, variables }: ReadCommand,
  { home, path }: ServeOptions,
): Promise<Served> {
  const kind = flagOf(args, "--engine");
  const isDemo = (kind === undefined && flagOf(args, "--url") === undefined) || kind === "demo";
  const isAsked = isDemo || kind === undefined || kind === "vllm" || kind === "auto";
  const engine = isDemo ? undefined : await startStandIn(isAsked, flagOf(args, "--model"));
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith("HARMONY_GATEWAY_"));
  const [program, ...first] =
    path === undefined ? [process.execPath, join(root, "src/node.ts")] : ["npm", "start", "--"];
  const child = spawn(program, [...first, ...withUrl(args, engine?.url)], {
    cwd: path === undefined ? home : root,
    env: {
      ...Object.fromEntries(own),
      ...variables,
      ...(path !== undefined && { PATH: path }),
      HOME: home,
      // A free port, which the gateway's log names.
      HARMONY_GATEWAY_PORT: "0",
    },
    stdio: ["ignore", "pipe", "pipe"],
    // The process has a separate group, because npm starts a shell, which starts the gateway.
    detached: true,
  });
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => (printed += data));
  const stop = async (): Promise<void> => {
    const closed = child.exitCode === null ? once(child, "close") : undefined;
    if (closed && child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    await closed;
    await engine?.close();
  };
  try {
    const hasEnded = () => child.exitCode !== null;
    const origin = await waitFor("its address in the log", hasEnded, async () => {
      return /"baseUrl":"(http:[^"]+)\/v1"/.exec(printed)?.[1];
    });
    const health = isAsked ? "/ready" : "/health";
    await waitFor(
      `200 at ${health}`,
      hasEnded,
      async () => (await fetch(origin + health)).ok || undefined,
    );
    if (!isAsked) return { origin, seen: "starts, and listens", stop };
    await ask(origin);
    return { origin, seen: "starts, and answers", stop };
  } catch (error) {
    await stop();
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`${reason} It printed: ${printed.slice(-600)}`, { cause: error });
  }
}

type StandIn = Pick<EngineServer, "url" | "close">;

/**
 * A server of vLLM's wire format. In place of another kind of server it answers 404, and the gateway gets no request.
 */
async function startStandIn(isAsked: boolean, model: string | undefined): Promise<StandIn> {
  return isAsked
    ? startEngineServer(createDemoEngine(), model)
    : startFakeUpstream((exchange) => exchange.reply(404, "{}"));
}

async function waitFor<T>(
  what: string,
  hasEnded: () => boolean,
  look: () => Promise<T | undefined>,
): Promise<T> {
  const end = performance.now() + START_TIMEOUT_MS;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (hasEnded()) throw new Error("The gateway ended.");
    if (performance.now() > end) throw new Error(`The gateway did not show ${what}.`);
    await setTimeout(100);
  }
}

async function ask(origin: string): Promise<void> {
  const response = await fetch(`${origin}/v1/chat/completions`, {
    method: "POST",
    body: JSON.stringify({ messages: [{ role: "user", content: "Hello!" }] }),
  });
  if (!response.ok) throw new Error(`It answered ${response.status}: ${await response.text()}`);
}

function flagOf(args: readonly string[], name: string): string | undefined {
  const at = args.indexOf(name);
  return at < 0 ? undefined : args[at + 1];
}

/** Replaces the named URL, or the default URL of that kind of server, by the stand-in's. */
function withUrl(args: readonly string[], url: string | undefined): readonly string[] {
  if (url === undefined) return args;
  const at = args.indexOf("--url");
  return at < 0 ? [...args, "--url", url] : args.toSpliced(at + 1, 1, url);
}
