/** A real nginx with the configuration of `deploy/nginx`, in front of gateways on this machine. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import type { Certificate } from "./certificate.ts";
import { freePort } from "./listen.ts";

const CONFIG = join(import.meta.dirname, "../../deploy/nginx/harmony-gateway.conf");

/** Debian's folder of nginx is not in the path of users. */
const env = { ...process.env, PATH: `${process.env["PATH"]}:/usr/sbin` };

/** Tests that need nginx are skipped if it is missing. */
export const HAS_NGINX = spawnSync("nginx", ["-v"], { env }).status === 0;

export interface TestNginx {
  /** `http://127.0.0.1:<port>` */
  readonly origin: string;
  stop(): Promise<void>;
}

/** Starts nginx with the deployed configuration, in which only the ports are replaced. */
export function startNginx(gatewayPorts: readonly [number, number]): Promise<TestNginx> {
  const [first, second] = gatewayPorts;
  return runNginx(({ port }) => ({
    origin: `http://127.0.0.1:${port}`,
    site: readFileSync(CONFIG, "utf8")
      .replace("127.0.0.1:8787", `127.0.0.1:${first}`)
      .replace("127.0.0.1:8788", `127.0.0.1:${second}`)
      .replace("listen 8080;", `listen 127.0.0.1:${port};`),
  }));
}

/**
 * Starts nginx for one gateway, over TLS and below the path `/team/`, which is removed. The caller has to trust the
 * certificate.
 */
export function startTlsNginx(gateway: string, { key, cert }: Certificate): Promise<TestNginx> {
  return runNginx(({ port, folder }) => {
    writeFileSync(join(folder, "key.pem"), key);
    writeFileSync(join(folder, "cert.pem"), cert);
    return {
      origin: `https://localhost:${port}`,
      site: `server {
  listen 127.0.0.1:${port} ssl;
  ssl_certificate ${join(folder, "cert.pem")};
  ssl_certificate_key ${join(folder, "key.pem")};
  location /team/ {
    proxy_pass ${gateway}/;
    proxy_http_version 1.1;
    proxy_set_header Host $http_host;
    proxy_set_header X-Forwarded-Proto $scheme;
  }
}
`,
    };
  });
}

function isAnswered(origin: string): Promise<boolean> {
  return fetch(`${origin}/metrics`).then(
    () => true,
    () => false,
  );
}

interface Site {
  readonly origin: string;
  /** The site's part of the configuration. */
  readonly site: string;
}

async function runNginx(toSite: (at: { port: number; folder: string }) => Site) {
  const folder = mkdtempSync(join(tmpdir(), "nginx-"));
  const { origin, site } = toSite({ port: await freePort(), folder });
  const kinds = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
  const folders = kinds.map((kind) => `${kind}_temp_path ${join(folder, kind)};`);
  const main = join(folder, "nginx.conf");
  writeFileSync(
    main,
    `daemon off; pid ${join(folder, "pid")}; error_log stderr;\n` +
      `events {}\nhttp {\naccess_log off;\n${folders.join("\n")}\n${site}}\n`,
  );
  const child = spawn("nginx", ["-e", "stderr", "-p", folder, "-c", main], { env });
  let complaints = "";
  child.stderr.on("data", (data) => (complaints += data));
  const ended = once(child, "close");
  while (!(await isAnswered(origin))) {
    if (child.exitCode !== null) throw new Error(complaints);
    await setTimeout(20);
  }
  return {
    origin,
    async stop() {
      child.kill("SIGTERM");
      await ended;
      rmSync(folder, { recursive: true });
    },
  };
}
