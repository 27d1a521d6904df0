import { expect, onTestFinished, test } from "vitest";
import { startTestGateway, testSettings } from "../helpers/gateway.ts";
import { isInspected } from "../../src/node/telemetry/recording.ts";
import { scriptedEngine } from "../helpers/scripted-engine.ts";

const VLLM = { engine: "vllm", url: "http://127.0.0.1:8000" };

test.each([
  ["is on for the demo engine on loopback", {}, true],
  ["can be switched off there", { inspect: false }, false],
  ["is off for a server", VLLM, false],
  ["can be switched on for a server", { ...VLLM, inspect: true }, true],
  ["is off for a demo that is open to everybody", { open: true }, false],
  ["is off for a demo with keys", { keys: [{ name: "a", sha256: "0".repeat(64) }] }, false],
])("the inspector %s", (_, settings, expected) => {
  expect(isInspected(testSettings(settings), {})).toBe(expected);
});

test.each([
  ["is on for a server on loopback", VLLM, true],
  ["can be switched off", { ...VLLM, inspect: false }, false],
  ["is off where other machines can connect", { ...VLLM, open: true, host: "0.0.0.0" }, false],
  ["is off with keys", { keys: [{ name: "a", sha256: "0".repeat(64) }] }, false],
])("at a terminal, the inspector %s", (_, settings, expected) => {
  const options = { isTerminal: true, hasOwnEngines: true };
  expect(isInspected(testSettings(settings), options)).toBe(expected);
});

test.each([true, false])(
  "where it is on: %s, it has an address and a link on the landing page",
  async (inspect) => {
    const gateway = await startTestGateway({
      engine: scriptedEngine([]),
      settings: { inspect, log: "info" },
    });
    onTestFinished(() => gateway.close());
    const address = gateway.logged.find(({ event }) => event === "start")?.["inspect"];
    const landing = await fetch(gateway.origin, { headers: { accept: "text/html" } });
    expect((await landing.text()).includes('data-inspector="on"')).toBe(inspect);
    expect((await fetch(`${gateway.origin}/inspect`)).status).toBe(inspect ? 200 : 404);
    const printed = new RegExp(`^${gateway.origin}/inspect#token=[a-z0-9]{24,}$`);
    expect(typeof address === "string" && printed.test(address)).toBe(inspect);
  },
);

test.each([
  ["chat", true],
  ["links", false],
  ["off", false],
])("where the home page is %s, the inspector leads to a chat: %s", async (home, expected) => {
  const gateway = await startTestGateway({
    engine: scriptedEngine([]),
    settings: { inspect: true, home },
  });
  onTestFinished(() => gateway.close());
  const page = await (await fetch(`${gateway.origin}/inspect`)).text();
  expect(page.includes('data-chat="on"')).toBe(expected);
});
