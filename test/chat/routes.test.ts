import { expect, test } from "vitest";
import { appOf } from "../helpers/app.ts";
import { fakeEngine } from "../helpers/fake-engine.ts";
import { testSettings } from "../helpers/gateway.ts";

const FOUND = { name: "ollama with gpt-oss:20b", command: "harmony-gateway --url http://x" };
const KEY = `alice:${"0".repeat(64)}`;

/** The facts that the page is given. */
async function factsOf(settings: object, host: string | undefined, headers: object = {}) {
  const seen: unknown[] = [];
  const app = appOf(testSettings({ ...settings }), [{ id: "m", engine: fakeEngine() }], {
    assets: { html: (_, facts) => Promise.resolve(String(seen.push(facts))) },
    foundEngines: () => [FOUND],
    ...(host !== undefined && { host }),
  });
  await app.request("http://127.0.0.1/", { headers: { accept: "text/html", ...headers } });
  return seen;
}

test("only the operator's page names the servers of the machine", async () => {
  const found = [{ found: JSON.stringify([FOUND]) }];
  expect(await factsOf({}, "127.0.0.1")).toEqual(found);
  expect(await factsOf({}, undefined)).toEqual([{}]);
  expect(await factsOf({ open: true }, "127.0.0.1")).toEqual([{}]);
  expect(await factsOf({ keys: [KEY] }, "127.0.0.1")).toEqual([{}]);
  expect(await factsOf({ allowedHosts: ["gateway.example"] }, "127.0.0.1")).toEqual([{}]);
  const publicUrl = "https://gateway.example";
  expect(await factsOf({ publicUrl }, "127.0.0.1")).toEqual([{ origin: publicUrl }]);
});

test("a request that came through a proxy is not the operator's", async () => {
  for (const name of ["forwarded", "via", "x-forwarded-for"]) {
    expect(await factsOf({}, "127.0.0.1", { [name]: "203.0.113.1" })).toEqual([{}]);
  }
});
