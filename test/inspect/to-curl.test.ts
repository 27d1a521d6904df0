import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { toCurl } from "../../web/inspect/to-curl.ts";

const requestOf = (body: string, headers = {}) => ({
  request: { method: "POST", path: "/v1/chat/completions", headers, body },
});

test("a recorded request is a command that a shell reads as it was sent", () => {
  const body = `{"messages":[{"role":"user","content":"it's $(id) \\"x\\" \`y\` \\\\ 'z'"}]}`;
  const command = toCurl(requestOf(body), "http://127.0.0.1:8787", false) ?? "";
  // The shell's own reading, without curl.
  const printed = execFileSync("sh", ["-c", command.replace(/^curl/, "printf '%s\\n'")], {
    encoding: "utf8",
  });
  expect(printed.split("\n").slice(0, -1)).toEqual([
    "http://127.0.0.1:8787/v1/chat/completions",
    "-H",
    "content-type: application/json",
    "-d",
    body,
  ]);
});

test("the key is read from the environment, and Anthropic's version stays", () => {
  const command = toCurl(requestOf("{}", { "anthropic-version": "2023-06-01" }), "http://h", true);
  expect(command).toContain(`-H 'anthropic-version: 2023-06-01'`);
  expect(command).toContain('-H "authorization: Bearer $HARMONY_GATEWAY_KEY"');
});

test("a request that is not kept is no command", () => {
  expect(toCurl({ request: null }, "http://h", false)).toBeUndefined();
  expect(toCurl(requestOf(""), "http://h", false)).toBeUndefined();
});
