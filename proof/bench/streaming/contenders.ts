/** The contenders: programs between the load generator and the engine. */
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { freePort } from "../../../test/helpers/listen.ts";
import { type Program, startProgram } from "../child.ts";
import { MODEL, type Wire } from "./requests.ts";
import type { Target } from "./stream.ts";

export interface Contender {
  readonly name: string;
  /** The wire format of its clients. */
  readonly wire: Wire;
  /** Left out with `--quick`. */
  readonly slow?: boolean;
  /**
   * It takes a hundred times as long as the others, which would wait for it. It is measured in these scenarios only, in the same
   * run and on the same engine, but in windows of its own.
   */
  readonly apart?: readonly string[];
  /** Additional request headers it requires. */
  readonly headers?: (enginePort: number) => Readonly<Record<string, string>>;
  /** Starts it in front of the engine at this port. `direct` and a given URL have nothing to start. */
  readonly start?: (enginePort: number, ownPort: number) => Promise<Program>;
  /** Its address, if it is already running. */
  readonly port?: (enginePort: number) => number;
}

export interface Running {
  readonly contender: Contender;
  readonly target: Target;
  /** The engine's port that it sends to. */
  readonly enginePort: number;
  /** Undefined: its process cannot be measured. */
  readonly pid: number | undefined;
  stop(): Promise<void>;
}

const PORTKEY = fileURLToPath(
  new URL("../peers/node_modules/@portkey-ai/gateway/build/start-server.js", import.meta.url),
);
const LITELLM = fileURLToPath(new URL("../peers/.litellm/bin/litellm", import.meta.url));
const NGINX = ["/usr/sbin/nginx", "/usr/bin/nginx", "/usr/local/bin/nginx"].find((path) =>
  existsSync(path),
);

const OUR_BUILD = new URL("../../../", import.meta.url);

/** All contenders available on this machine. */
export const CONTENDERS: readonly Contender[] = [
  { name: "direct", wire: "engine", port: (enginePort) => enginePort },
  gateway("gateway", "chat", OUR_BUILD),
  gateway("gateway-responses", "responses", OUR_BUILD),
  { name: "hono-pipe", wire: "engine", start: startModule("./hono-pipe.ts") },
  { name: "http-pipe", wire: "engine", slow: true, start: startModule("./http-pipe.ts") },
  ...(existsSync(PORTKEY) ? [portkey()] : []),
  ...(existsSync(LITELLM) ? [litellm("text-completion-openai")] : []),
  ...(NGINX === undefined ? [] : [nginx(NGINX)]),
];

export async function startContender(contender: Contender, enginePort: number): Promise<Running> {
  const port = contender.port?.(enginePort) ?? (await freePort());
  const program = await contender.start?.(enginePort, port);
  return {
    contender,
    enginePort,
    target: { name: contender.name, port, headers: contender.headers?.(enginePort) ?? {} },
    pid: program?.pid,
    stop: async () => program?.stop(),
  };
}

/** A build of the gateway in this folder, which may be another commit's. */
export function gateway(name: string, wire: Wire, folder: URL): Contender {
  return {
    name,
    wire,
    start: (enginePort, ownPort) =>
      startNode(
        gatewayArgs(folder, enginePort, ["--port", String(ownPort)]),
        `http://127.0.0.1:${ownPort}/ready`,
      ),
  };
}

/** The arguments of a process from the build in this folder. The gateway's `flags` come last. */
export function gatewayArgs(folder: URL, enginePort: number, flags: readonly string[]): string[] {
  const entry = fileURLToPath(new URL("dist/node.js", folder));
  const settings = {
    engine: "vllm",
    url: `http://127.0.0.1:${enginePort}`,
    model: MODEL,
    // Without request logs, like the others.
    log: "warn",
  };
  const given = Object.entries(settings).flatMap(([key, value]) => [`--${key}`, value]);
  return [...readNodeFlags(entry), entry, ...given, ...flags];
}

/** The flags of Node in the first line of a program, used when it is installed. */
function readNodeFlags(entry: string): string[] {
  const [line = ""] = readFileSync(entry, "utf8").split("\n", 1);
  return /^#!.* -S node (.+)$/.exec(line)?.[1]?.split(" ") ?? [];
}

function startModule(path: string): NonNullable<Contender["start"]> {
  const file = fileURLToPath(new URL(path, import.meta.url));
  return (enginePort, ownPort) =>
    startNode([file, String(enginePort), String(ownPort)], `http://127.0.0.1:${ownPort}/`);
}

function startNode(args: readonly string[], readyUrl: string): Promise<Program> {
  // For instance `--cpu-prof --cpu-prof-dir=proof/bench/results`, to profile it.
  const flags = process.env["BENCH_NODE_FLAGS"]?.split(" ") ?? [];
  return startProgram(process.execPath, [...flags, ...args], readyUrl, { NODE_ENV: "production" });
}

export function portkey(): Contender {
  return {
    name: "portkey",
    wire: "engine",
    headers: (enginePort) => ({
      "x-portkey-provider": "openai",
      "x-portkey-custom-host": `http://127.0.0.1:${enginePort}/v1`,
    }),
    start: (_enginePort, ownPort) =>
      startNode([PORTKEY, "--headless", `--port=${ownPort}`], `http://127.0.0.1:${ownPort}/`),
  };
}

/**
 * It has one worker, because the others have one process. It parses the engine's output and writes its own.
 *
 * @param provider how it asks the engine: text completions, or `openai` for its chat endpoint.
 */
export function litellm(provider: "text-completion-openai" | "openai"): Contender {
  return {
    name: "litellm",
    // No more tokens a second than it can carry, and nothing that takes it minutes.
    apart: ["paced-64-at-10", "first-token", "requests"],
    wire: provider === "openai" ? "chat" : "engine",
    start(enginePort, ownPort) {
      const file = join(mkdtempSync(join(tmpdir(), "bench-litellm-")), "config.yaml");
      writeFileSync(
        file,
        `
model_list:
  - model_name: ${MODEL}
    litellm_params:
      model: ${provider}/${MODEL}
      api_base: http://127.0.0.1:${enginePort}/v1
      api_key: none
`,
      );
      return startProgram(
        LITELLM,
        ["--config", file, "--host", "127.0.0.1", "--port", String(ownPort)],
        `http://127.0.0.1:${ownPort}/health/liveliness`,
        {
          LITELLM_LOCAL_MODEL_COST_MAP: "True",
          LITELLM_LOG: "ERROR",
          // LiteLLM runs without keys, like the other contenders.
          LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY: "true",
        },
      );
    },
  };
}

function nginx(command: string): Contender {
  return {
    name: "nginx",
    wire: "engine",
    start(enginePort, ownPort) {
      const folder = mkdtempSync(join(tmpdir(), "bench-nginx-"));
      const file = join(folder, "nginx.conf");
      writeFileSync(file, nginxConfiguration(enginePort, ownPort, folder));
      return startProgram(
        command,
        ["-e", "stderr", "-p", folder, "-c", file],
        `http://127.0.0.1:${ownPort}/`,
      );
    },
  };
}

/** nginx runs with one process, like the others, and without buffering. */
function nginxConfiguration(enginePort: number, ownPort: number, folder: string): string {
  return `
daemon off;
master_process off;
pid ${folder}/pid;
events { worker_connections 8192; }
http {
  access_log off;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
  client_body_buffer_size 4m;
  client_max_body_size 32m;
  keepalive_requests 1000000;
  upstream engine { server 127.0.0.1:${enginePort}; keepalive 2048; keepalive_requests 1000000; }
  server {
    listen 127.0.0.1:${ownPort};
    location / {
      proxy_pass http://engine;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
    }
  }
}
`;
}
