import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");

const SERVE = `
  const { createAssets } = await import("./src/node/pages/assets.ts");
  const { CHAT_PAGE } = await import("./src/pages/chat-page.ts");
  console.log((await createAssets().html(CHAT_PAGE)).includes("web/chat/app.ts"));
  process.emitWarning("of something else", "ExperimentalWarning");
`;

test("the first page of a clone, whose types are stripped, prints no warning at the terminal", async () => {
  const args = ["--input-type=module", "--eval", SERVE];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { cwd: ROOT });
  expect(stdout).toBe("true\n");
  expect(stderr.match(/\w+Warning: .*/g)).toEqual(["ExperimentalWarning: of something else"]);
});
