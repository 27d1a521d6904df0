/** The files of `deploy/` and `compose.yaml`: against the types of what reads them, and against the gateway. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import * as z from "zod";
import { checkTypes } from "../../scripts/docs/snippets.ts";
import { OPERATIONS } from "../../src/api/pages/operations.ts";
import { loadSettings } from "../../src/node/settings.ts";
import { createRegistry } from "../../src/telemetry/metrics.ts";
import { createMeters } from "../../src/telemetry/observe-models.ts";

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

test("the manifests' labels belong together, and their probes and metrics exist", () => {
  const text = read("deploy/kubernetes/gateway.yaml") + read("deploy/kubernetes/autoscaling.yaml");
  const labels = text.matchAll(/(?:labels|matchLabels|selector): \{ (.*?) \}/g);
  expect(new Set(Array.from(labels, ([, label]) => label))).toEqual(
    new Set(["app: harmony-gateway"]),
  );
  const paths = Array.from(text.matchAll(/httpGet: \{ path: (\S+),/g), ([, path]) => path);
  expect(paths).toHaveLength(3);
  const served = new Set(OPERATIONS.map(({ path }) => path));
  expect(paths.filter((path) => !served.has(path ?? ""))).toEqual([]);
  const registry = createRegistry();
  createMeters(registry);
  const [metric] = /harmony_gateway_\w+/.exec(read("deploy/kubernetes/autoscaling.yaml")) ?? [];
  expect(registry.toText()).toContain(`# TYPE ${metric} gauge`);
  expect(read("deploy/kubernetes/prometheus-adapter-values.yaml")).toContain(`${metric}{`);
});

test.each([
  [
    "deploy/kubernetes/gateway.yaml",
    { HARMONY_GATEWAY_HOST: "0.0.0.0", HARMONY_GATEWAY_KEYS: `a:${"a".repeat(64)}` },
  ],
  ["compose.yaml", { HARMONY_GATEWAY_HOST: "0.0.0.0" }],
])("the variables of %s are settings that the gateway starts with", (file, image) => {
  const variables = read(file).matchAll(/^ +(HARMONY_GATEWAY_\w+): "?(.*?)"?$/gm);
  const environment = Object.fromEntries(Array.from(variables, ([, name, value]) => [name, value]));
  expect(Object.keys(environment).length).toBeGreaterThan(3);
  const { settings, warnings } = loadSettings([], { ...environment, ...image });
  expect(warnings).toEqual([]);
  expect(settings).toMatchObject({ engine: "vllm", url: "http://vllm:8000" });
});

const HAS_SYSTEMD = spawnSync("systemd-analyze", ["--version"]).status === 0;

test.runIf(HAS_SYSTEMD)("systemd accepts the unit (skipped without systemd-analyze)", () => {
  const folder = mkdtempSync(join(tmpdir(), "unit-"));
  try {
    const unit = join(folder, "harmony-gateway.service");
    // Where it is not installed, systemd complains of that first.
    const text = read("deploy/harmony-gateway.service").replace(/^(ExecStart=).*$/m, "$1/bin/true");
    writeFileSync(unit, text);
    expect(execFileSync("systemd-analyze", ["verify", unit], { encoding: "utf8" })).toBe("");
    writeFileSync(unit, text.replace("TimeoutStopSec=35", "TimeoutStopSec=soon"));
    const { stderr } = spawnSync("systemd-analyze", ["verify", unit], { encoding: "utf8" });
    expect(stderr).toContain("soon");
  } finally {
    rmSync(folder, { recursive: true });
  }
});
