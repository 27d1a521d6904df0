/** The workflow that compares a pull request with its target branch. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import * as z from "zod";
import { parseCompareArguments } from "./compare/arguments.ts";

const ROOT = join(import.meta.dirname, "../..");
const read = (file: string) => readFileSync(join(ROOT, file), "utf8");

const workflow = z
  .looseObject({
    on: z.strictObject({ pull_request: z.looseObject({ paths: z.array(z.string()) }) }),
    jobs: z.looseObject({
      compare: z.looseObject({ steps: z.array(z.looseObject({ run: z.string().optional() })) }),
    }),
  })
  .parse(parse(read(".github/workflows/bench.yml")));
const step = workflow.jobs.compare.steps.find(({ run }) => run?.includes("proof/bench/compare.ts"));
const command = /node proof\/bench\/compare\.ts (.*) \| tee/.exec(step?.run ?? "")?.[1] ?? "";

test("a pull request that changes the gateway is compared with the commit it is merged into", () => {
  expect(workflow.on.pull_request.paths).toContain("src/**");
  expect(step).toMatchObject({ env: { BASE: "${{ github.event.pull_request.base.sha }}" } });
  expect(command).toMatch(/^"\$BASE" /);
});

test("its command is one that the script takes", () => {
  const { maxLoss, scenarios } = parseCompareArguments(command.split(" "));
  expect(scenarios.length).toBeGreaterThan(3);
  expect(maxLoss).toBeGreaterThan(0);
});

test("a failure is not hidden by the pipe: only `shell: bash` sets pipefail", () => {
  expect(step?.["shell"]).toBe("bash");
});
