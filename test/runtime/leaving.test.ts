import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestGateway, type TestGateway } from "../helpers/gateway.ts";
import { type Script, type ScriptedEngine, scriptedEngine } from "../helpers/scripted-engine.ts";

const ANALYSIS = "<|channel|>analysis<|message|>Let me think.";

/** A text that is still in flight when the client has disconnected. */
const LONG = `<|channel|>final<|message|>${Array.from({ length: 20_000 }, (_, at) => ` ${at}`).join("")}`;

let next: Script = "";
let engine: ScriptedEngine;
let gateway: TestGateway;

beforeAll(async () => {
  engine = scriptedEngine(() => next);
  gateway = await startTestGateway({ engine, settings: { keepAliveMs: 100 } });
});
afterAll(() => gateway.close());

interface Asked {
  readonly response: Promise<Response>;
  readonly leave: () => void;
}

function ask(path: string, body: object): Asked {
  const abort = new AbortController();
  const response = fetch(gateway.origin + path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    signal: abort.signal,
  });
  return { response, leave: () => abort.abort() };
}

// Streams only: workerd as it runs on a developer's machine does not tell a Worker that a client has left before
// it got an answer. On Node, faults.test.ts has that.
const CHAT = { messages: [{ role: "user", content: "hi" }] };

const streams: [string, string, object][] = [
  ["a chat", "/v1/chat/completions", { ...CHAT, stream: true }],
  ["a response", "/v1/responses", { model: "openai/gpt-oss-20b", input: "hi", stream: true }],
];

describe.each(streams)(
  "a disconnect from the stream of %s aborts the engine's request",
  (_, ...asked) => {
    test.each<[string, Script]>([
      ["while it writes", LONG],
      ["while it hangs", { write: ANALYSIS, hang: true }],
    ])("%s", async (__, script) => {
      next = script;
      const turns = gateway.logged.filter(({ event }) => event === "turn").length;
      const { response, leave } = ask(...asked);
      const reader = (await response).body?.getReader();
      await reader?.read();
      await expect.poll(() => engine.open).toBe(1);
      leave();
      await expect.poll(() => engine.open).toBe(0);
      // The counts of the stream are taken back.
      const later = () => gateway.logged.filter(({ event }) => event === "turn").slice(turns);
      await expect.poll(later).toMatchObject([{ finish: "cancelled" }]);
      const metrics = await (await fetch(`${gateway.origin}/metrics`)).text();
      expect(metrics).toMatch(/^harmony_gateway_turns_in_flight 0$/m);
    });
  },
);
