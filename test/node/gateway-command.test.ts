/** The programs of `proof/` start the gateway with the same helper as the tests. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

test("outside of the test runner, the gateway is started from its sources", async () => {
  const helper = join(import.meta.dirname, "../helpers/gateway-command.ts");
  const program = `
    const { gatewayCommand } = await import(${JSON.stringify(helper)});
    console.log((await gatewayCommand()).script);`;
  const { VITEST: _, ...env } = process.env;
  const args = ["--input-type=module", "--eval", program];
  const { stdout } = await promisify(execFile)(process.execPath, args, { env });
  expect(stdout.trim()).toBe(join(import.meta.dirname, "../../src/node.ts"));
});
