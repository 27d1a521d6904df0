/** Records scenarios: types their commands in terminals and records the output. */
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import * as tls from "node:tls";
import { createDemoEngine } from "../../src/engines/demo.ts";
import { startEngineServer } from "../../test/helpers/engine-server.ts";
import { startFakeUpstream } from "../../test/helpers/fake-upstream.ts";
import { freePort } from "../../test/helpers/listen.ts";
import { makeCertificate } from "../../test/helpers/certificate.ts";
import { startTlsNginx, type TestNginx } from "../../test/helpers/nginx.ts";
import { MadeKey } from "./made-key.ts";
import { type Addresses, takePictures } from "./pictures.ts";
import { PROXY, type Scenario } from "./scenarios.ts";
import { startScriptedVllm } from "./scripted-vllm.ts";
import { typeCommand } from "./terminal.ts";

export interface Recording {
  readonly scenario: Scenario;
  /** Commands and output, as the page shows them. */
  readonly text: string;
  /** Time from the first command to the first answer. Undefined if the scenario requests none. */
  readonly seconds: number | undefined;
}

/** Maximum characters of a line on the page. Answers are long and similar. */
const LONGEST_LINE = 420;

/** @param root the checkout that is tried. */
export async function recordAll(
  root: string,
  scenarios: readonly Scenario[],
): Promise<Recording[]> {
  const folder = mkdtempSync(join(tmpdir(), "session-"));
  const engine = await startEngineServer(createDemoEngine());
  const other = await startFakeUpstream((exchange) => exchange.reply(404, "<h1>Not here</h1>"));
  const secured = await startFakeUpstream((exchange) => exchange.destroy());
  const locked = await startFakeUpstream((exchange) =>
    exchange.reply(401, '{"error":"Unauthorized"}'),
  );
  const vllms = await Promise.all([startScriptedVllm(false), startScriptedVllm(true)]);
  try {
    if (scenarios.some((each) => each.folder !== undefined)) prepareFolders(root, folder);
    const recordings: Recording[] = [];
    for (const scenario of scenarios) {
      const ports = {
        "8787": await freePort(),
        "8000": portOf(engine.url),
        "8001": await freePort(),
        "8002": portOf(other.url),
        "8003": portOf(vllms[0].url),
        "8004": portOf(vllms[1].url),
        "8005": portOf(secured.url),
        "8006": portOf(locked.url),
        "3000": await freePort(),
      };
      recordings.push(await record(root, folder, scenario, ports));
    }
    return recordings;
  } finally {
    await Promise.all([engine, other, secured, locked, ...vllms].map((server) => server.close()));
    rmSync(folder, { recursive: true });
  }
}

/** A clone, the packed package, and an application that has no dependencies yet. */
function prepareFolders(root: string, folder: string): void {
  execFileSync("git", ["clone", "--quiet", root, join(folder, "clone")]);
  execFileSync("npm", ["pack", "--silent", "--pack-destination", folder], { cwd: root });
  mkdirSync(join(folder, "app"));
  writeFileSync(join(folder, "app/package.json"), '{ "private": true }');
}

type Ports = Readonly<Record<string, number>>;

async function record(
  root: string,
  folder: string,
  scenario: Scenario,
  ports: Ports,
): Promise<Recording> {
  const cwd = join(folder, scenario.folder ?? "empty");
  mkdirSync(cwd, { recursive: true });
  if (scenario.isBehindProxy !== true) return recordIn(cwd, scenario, { root, folder, ports });
  const { nginx, file } = await startProxy(folder, ports);
  try {
    return await recordIn(cwd, scenario, {
      root,
      folder,
      ports,
      proxy: { origin: nginx.origin, trusted: file },
    });
  } finally {
    await nginx.stop();
  }
}

/** nginx, and the file with the certificate that clients have to trust. */
async function startProxy(
  folder: string,
  ports: Ports,
): Promise<{ readonly nginx: TestNginx; readonly file: string }> {
  const certificate = makeCertificate();
  const file = join(folder, "trusted.pem");
  writeFileSync(file, certificate.cert);
  tls.setDefaultCACertificates([...tls.getCACertificates(), certificate.cert]);
  return { nginx: await startTlsNginx(`http://127.0.0.1:${ports["8787"]}`, certificate), file };
}

interface Place {
  readonly root: string;
  readonly folder: string;
  readonly ports: Ports;
  readonly proxy?: { readonly origin: string; readonly trusted: string };
}

async function recordIn(cwd: string, scenario: Scenario, place: Place): Promise<Recording> {
  const { root, folder, ports, proxy } = place;
  const { before = [], serve, until = /./, asked = [], files = {}, pictures } = scenario;
  const key = new MadeKey();
  const toPlace = (text: string) =>
    key.fill(toReal(text, ports).replaceAll(PROXY, proxy?.origin ?? PROXY));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(cwd, name)), { recursive: true });
    writeFileSync(join(cwd, name), toPlace(text));
  }
  const trust = proxy && { CURL_CA_BUNDLE: proxy.trusted, NODE_EXTRA_CA_CERTS: proxy.trusted };
  const options = { cwd, env: { ...toEnvironment(root, folder, ports), ...trust } };
  const type = (command: string) => typeCommand(toPlace(command), options);
  const show = (command: string, printed: string) => {
    const shown = toShown(
      key.hide(printed).replaceAll(proxy?.origin ?? PROXY, PROXY),
      ports,
      folder,
    )
      .replaceAll(/\n{3,}/g, "\n\n")
      .trimEnd();
    const lines = shown === "" ? [] : shown.split("\n");
    return [`$ ${command}`, ...lines.map(shorten), ""].join("\n");
  };
  const started = performance.now();
  let seconds: number | undefined;
  let first = "";
  for (const command of before) {
    const typed = type(command);
    await typed.end();
    first += show(command, typed.printed);
  }
  const answers: string[] = [];
  if (serve !== undefined) {
    const gateway = type(serve);
    await gateway.waitFor(until);
    for (const command of asked) {
      const typed = type(command);
      await typed.end();
      seconds ??= (performance.now() - started) / 1000;
      answers.push(show(command, typed.printed));
    }
    if (pictures !== undefined) {
      await takePictures(pictures, addressesIn(gateway.printed), join(root, "docs/images"));
    }
    await gateway.settle();
    const { printed } = gateway;
    await gateway.interrupt();
    first += show(serve, printed);
  }
  return { scenario, text: [first, ...answers].join("\n"), seconds };
}

function addressesIn(printed: string): Addresses {
  const find = (pattern: RegExp) => pattern.exec(printed)?.[0] ?? "";
  return {
    home: find(/http:\S+:\d+\/(?=\s)/),
    inspector: find(/http:\S+\/inspect#token=\w+/),
  };
}

/** The environment of a user: no settings, and the command where a global installation puts it. */
function toEnvironment(root: string, folder: string, ports: Ports) {
  const bin = join(folder, "bin");
  mkdirSync(bin, { recursive: true });
  const command = join(bin, "harmony-gateway");
  const entry = join(root, "src/node.ts");
  writeFileSync(command, `#!/bin/sh\nexec "${process.execPath}" "${entry}" "$@"\n`);
  chmodSync(command, 0o755);
  const own = Object.entries(process.env).filter(
    ([name]) => !name.startsWith("HARMONY_GATEWAY_") && !name.startsWith("npm_"),
  );
  return {
    ...Object.fromEntries(own),
    PATH: [bin, process.env["PATH"]].join(delimiter),
    HARMONY_GATEWAY_PORT: String(ports["8787"]),
    // It redraws its own lines, which cannot be read in a recording.
    npm_config_progress: "false",
  };
}

/** Replaces the page's ports by ports that are free on this machine. */
function toReal(command: string, ports: Ports): string {
  return command.replaceAll(
    /(127\.0\.0\.1:|\bPORT=)(\d+)/g,
    (whole, before: string, port: string) =>
      ports[port] === undefined ? whole : `${before}${ports[port]}`,
  );
}

/** Restores the ports of the page, and removes this machine's folders and tokens. */
function toShown(printed: string, ports: Ports, folder: string): string {
  let shown = printed.replaceAll(folder, "~");
  for (const [port, real] of Object.entries(ports)) {
    shown = shown.replaceAll(
      new RegExp(`(127\\.0\\.0\\.1|localhost):${real}\\b`, "g"),
      `$1:${port}`,
    );
  }
  return shown
    .replaceAll(/\btoken=\w+/g, "token=…")
    .split("\n")
    .filter((line) => !/^npm (warn|notice)/.test(line))
    .join("\n");
}

function shorten(line: string): string {
  return line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE)}…` : line;
}

function portOf(url: string): number {
  return Number(new URL(url).port);
}
