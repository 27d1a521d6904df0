/** Every metric in `deploy/prometheus/alerts.yaml` and `docs/operate.md` is one that the gateway serves. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { parse } from "yaml";
import * as z from "zod";
import { startTestGateway } from "../helpers/gateway.ts";

const ROOT = join(import.meta.dirname, "../..");
const NAME = /\b(?:harmony_gateway|gen_ai_server|gen_ai_client|process)_\w+/g;

const rules = z.object({
  groups: z.tuple([
    z.object({
      rules: z.array(
        z.strictObject({
          alert: z.string(),
          expr: z.string(),
          for: z.string().regex(/^\d+[sm]$/),
          labels: z.strictObject({ severity: z.enum(["critical", "warning"]) }),
          annotations: z.strictObject({ summary: z.string(), action: z.string() }),
        }),
      ),
    }),
  ]),
});

let served: ReadonlySet<string>;

beforeAll(async () => {
  const gateway = await startTestGateway({ settings: { metrics: "open" } });
  const text = await (await fetch(`${gateway.origin}/metrics`)).text();
  await gateway.close();
  served = new Set(Array.from(text.matchAll(/^# TYPE (\w+)/gm), ([, name = ""]) => name));
});

function unknownIn(text: string): string[] {
  const names = (text.match(NAME) ?? []).map((name) => name.replace(/_(bucket|sum|count)$/, ""));
  expect(names.length).toBeGreaterThan(5);
  return names.filter((name) => !served.has(name));
}

test("the alerts", () => {
  const { groups } = rules.parse(
    parse(readFileSync(join(ROOT, "deploy/prometheus/alerts.yaml"), "utf8")),
  );
  const [{ rules: alerts }] = groups;
  expect(new Set(alerts.map(({ alert }) => alert)).size).toBe(alerts.length);
  expect(unknownIn(alerts.map(({ expr }) => expr).join("\n"))).toEqual([]);
});

test("the page on operating", () => {
  expect(unknownIn(readFileSync(join(ROOT, "docs/operate.md"), "utf8"))).toEqual([]);
});

test("a process reports its processor time, its memory and its event loop", async () => {
  const gateway = await startTestGateway({ settings: { metrics: "open" } });
  const text = await (await fetch(`${gateway.origin}/metrics`)).text();
  await gateway.close();
  const read = (name: string) => Number(new RegExp(`^${name} (.*)$`, "m").exec(text)?.[1]);
  expect(read("process_cpu_seconds_total")).toBeGreaterThan(0);
  expect(read("process_resident_memory_bytes")).toBeGreaterThan(10_000_000);
  expect(read("harmony_gateway_event_loop_active_seconds_total")).toBeGreaterThan(0);
});
