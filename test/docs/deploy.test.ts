/** The files of `deploy/` fit the types of the programs that read them, and the gateway. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import * as z from "zod";
import { checkTypes } from "../../scripts/docs/snippets.ts";
import { loadSettings } from "../../src/node/index.ts";
import { appOf } from "../helpers/app.ts";
import { testSettings } from "../helpers/gateway.ts";
import { OPENAPI } from "../helpers/openapi-check.ts";

const ROOT = join(import.meta.dirname, "../..");
const read = (file: string) => readFileSync(join(ROOT, file), "utf8");

const manifest = z.looseObject({ apiVersion: z.string(), kind: z.string() });
const MANIFESTS = ["gateway.yaml", "autoscaling.yaml"].flatMap((file) =>
  parseAllDocuments(read(`deploy/kubernetes/${file}`)).map((each) => manifest.parse(each.toJS())),
);

/** A manifest as a program, in which the compiler finds fields that are missing, wrong or not known. */
function toProgram({ apiVersion, kind, ...fields }: z.infer<typeof manifest>) {
  const path = apiVersion.includes("/") ? apiVersion : `core/${apiVersion}`;
  const json = JSON.stringify({ apiVersion, kind, ...fields });
  const body = `import type { ${kind} } from "kubernetes-types/${path}.js";\nconst value: ${kind} = ${json};\n`;
  return { page: kind, line: 1, language: "ts", body, notes: [] };
}

test("the manifests have the types of Kubernetes' API", async () => {
  expect(MANIFESTS.map(({ kind }) => kind)).toEqual([
    "ConfigMap",
    "Deployment",
    "Service",
    "PodDisruptionBudget",
    "HorizontalPodAutoscaler",
  ]);
  const misspelt = { ...MANIFESTS[1], apiVersion: "apps/v1", kind: "Deployment", spce: {} };
  const problems = await checkTypes(
    ROOT,
    [...MANIFESTS, misspelt].map((each) => toProgram(each)),
  );
  expect(MANIFESTS.map((_, index) => problems.get(index))).toEqual(MANIFESTS.map(() => undefined));
  expect(problems.get(MANIFESTS.length)).toMatch(/"spce".* does not exist/);
});

test("the manifests' labels belong together, and their probes and metrics exist", async () => {
  const text = read("deploy/kubernetes/gateway.yaml") + read("deploy/kubernetes/autoscaling.yaml");
  const labels = text.matchAll(/(?:labels|matchLabels|selector): \{ (.*?) \}/g);
  expect(new Set(Array.from(labels, ([, label]) => label))).toEqual(
    new Set(["app: harmony-gateway"]),
  );
  const paths = Array.from(text.matchAll(/httpGet: \{ path: (\S+),/g), ([, path]) => path);
  expect(paths).toHaveLength(3);
  const served = new Set(Object.keys(OPENAPI.paths));
  expect(paths.filter((path) => !served.has(path ?? ""))).toEqual([]);
  const app = appOf(testSettings({ metrics: "open" }), [], {});
  const metrics = await (await app.request("/metrics")).text();
  const [metric] = /harmony_gateway_\w+/.exec(read("deploy/kubernetes/autoscaling.yaml")) ?? [];
  expect(metrics).toContain(`# TYPE ${metric} gauge`);
  expect(read("deploy/kubernetes/prometheus-adapter-values.yaml")).toContain(`${metric}{`);
});

test.each([
  [
    "deploy/kubernetes/gateway.yaml",
    { HARMONY_GATEWAY_HOST: "0.0.0.0", HARMONY_GATEWAY_KEYS: `a:${"a".repeat(64)}` },
  ],
  ["deploy/compose.yaml", { HARMONY_GATEWAY_HOST: "0.0.0.0" }],
])("the variables of %s are settings that the gateway starts with", (file, image) => {
  const variables = read(file).matchAll(/^ +(HARMONY_GATEWAY_\w+): "?(.*?)"?$/gm);
  const environment = Object.fromEntries(Array.from(variables, ([, name, value]) => [name, value]));
  expect(Object.keys(environment).length).toBeGreaterThan(3);
  const { settings, warnings } = loadSettings([], { ...environment, ...image });
  expect(warnings).toEqual([]);
  expect(settings).toMatchObject({ engine: "vllm", url: "http://vllm:8000" });
});

test.each([
  "package.json",
  "Dockerfile",
  "deploy/harmony-gateway.service",
  "deploy/harmony-gateway@.service",
])("%s starts Node with a small young generation", (file) => {
  expect(read(file)).toContain("--max-semi-space-size=8");
});

const composed = z.object({
  services: z.record(
    z.string(),
    z.looseObject({ environment: z.record(z.string(), z.string()).optional() }),
  ),
});

test("the gateways of compose.cores.yaml share everything but the port for metrics", () => {
  const file = parse(read("deploy/compose.cores.yaml"), { merge: true });
  const gateways = Object.entries(composed.parse(file).services)
    .filter(([name]) => name.startsWith("gateway"))
    .map(([, { environment = {} }]) => {
      const HARMONY_GATEWAY_URL = environment["HARMONY_GATEWAY_URL"]?.replace(
        /^\$\{.*:-(.*)\}$/,
        "$1",
      );
      return loadSettings([], { ...environment, HARMONY_GATEWAY_URL });
    });
  expect(gateways.map(({ warnings }) => warnings)).toEqual([[], []]);
  const [first, second] = gateways.map(({ settings }) => settings);
  expect(first).toMatchObject({ reusePort: true, port: 8787, metricsPort: 9461 });
  expect(second).toEqual({ ...first, metricsPort: 9462 });
});

test("the gateway of compose.team.yaml has keys, an audit file, and its state in the database beside it", () => {
  const given: Readonly<Record<string, string>> = {
    KEYS: `alice:${"a".repeat(64)}`,
    ENGINE_URL: "http://host.docker.internal:8080",
    POSTGRES_PASSWORD: "secret",
  };
  const text = read("deploy/compose.team.yaml").replaceAll(
    /\$\{(\w+):[^}]*\}/g,
    (_, name: string) => given[name] ?? "",
  );
  const { gateway, postgres } = composed.parse(parse(text)).services;
  const { settings, warnings } = loadSettings([], {
    ...gateway?.environment,
    HARMONY_GATEWAY_HOST: "0.0.0.0",
  });
  expect(warnings).toEqual([]);
  expect(settings).toMatchObject({
    url: "http://host.docker.internal:8080",
    keys: [{ name: "alice" }],
    store: "postgres://gateway:secret@postgres:5432/gateway",
  });
  expect(postgres?.environment).toMatchObject({
    POSTGRES_USER: "gateway",
    POSTGRES_PASSWORD: "secret",
  });
  expect(read("Dockerfile")).toContain(settings.auditFile?.replace("/audit.jsonl", "") ?? "?");
});

test("a process of the systemd template shares the port, and is reached by its instance's name", () => {
  const unit = read("deploy/harmony-gateway@.service").replaceAll("%i", "9461");
  const variables = Array.from(unit.matchAll(/^Environment=(\w+)=(.*)$/gm), ([, name, value]) => [
    name,
    value,
  ]);
  const store = { HARMONY_GATEWAY_STORE: "redis://127.0.0.1:6379" };
  const { settings, warnings } = loadSettings([], { ...Object.fromEntries(variables), ...store });
  expect(warnings).toEqual([]);
  expect(settings).toMatchObject({ reusePort: true, metricsPort: 9461 });
  expect(unit).toContain("http://127.0.0.1:9461/health");
  // Processes of different users cannot share a port.
  expect(unit).toMatch(/^User=harmony-gateway$/m);
});

const HAS_SYSTEMD = spawnSync("systemd-analyze", ["--version"]).status === 0;

test.runIf(HAS_SYSTEMD).each(["harmony-gateway.service", "harmony-gateway@.service"])(
  "systemd accepts %s (skipped without systemd-analyze)",
  (name) => {
    const folder = mkdtempSync(join(tmpdir(), "unit-"));
    try {
      const unit = join(folder, name.replace("@", "@9461"));
      // systemd first reports a program that is not installed.
      const text = read(`deploy/${name}`).replaceAll(/^(ExecStart(?:Post)?=).*$/gm, "$1/bin/true");
      writeFileSync(unit, text);
      expect(execFileSync("systemd-analyze", ["verify", unit], { encoding: "utf8" })).toBe("");
      writeFileSync(unit, text.replace("TimeoutStopSec=35", "TimeoutStopSec=soon"));
      const { stderr } = spawnSync("systemd-analyze", ["verify", unit], { encoding: "utf8" });
      expect(stderr).toContain("soon");
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
);
