/**
 * The gateway over KV as it is in production. It says what holds, and what does not: KV is for reasoning and for stored
 * responses, while conversations and background responses need more of a store than KV promises.
 */
import { describe, expect, test, vi } from "vitest";
import * as z from "zod";
import { createKvStore } from "../../src/store/kv-store.ts";
import { sleep } from "../../src/streams/timers.ts";
import { consume } from "../api/responses/consumer.ts";
import { holdLoop } from "../api/responses/loops.ts";
import { responseObject } from "../api/responses/schemas.ts";
import { MODEL, readEvents, type ResponsesApp, responsesApp } from "../api/responses/support.ts";
import { createTestApp } from "../helpers/app.ts";
import { settled, useFakeTime } from "../helpers/fake-time.ts";
import { type Script, type ScriptedEngine, scriptedEngine } from "../helpers/scripted-engine.ts";
import { createSimulatedKv } from "../helpers/simulated-kv.ts";
import { loopScripts, STEP_TOOL } from "../helpers/tool-loop.ts";

useFakeTime();

const ANSWER = "<|channel|>final<|message|>Hello there!<|return|>";
const REQUEST = { model: MODEL, input: "Hi." };
const BACKGROUND = { ...REQUEST, background: true };

/** Gateways in two locations over one namespace. */
function twoLocations(script: Script = ANSWER) {
  const kv = createSimulatedKv();
  const open = (location: string) =>
    responsesApp({
      engine: scriptedEngine(() => script),
      store: createKvStore(kv.at(location)),
      settings: { keepAliveMs: 3_600_000 },
    });
  return { kv, here: open("here"), there: open("there") };
}

async function create(app: ResponsesApp, body: object) {
  const response = await settled(app.send("POST", "/v1/responses", { model: MODEL, ...body }));
  expect(response.status).toBe(200);
  return responseObject.parse(await settled(response.json()));
}

async function look(app: ResponsesApp, id: string) {
  const response = await settled(app.send("GET", `/v1/responses/${id}`));
  return response.status === 200
    ? responseObject.parse(await settled(response.json())).status
    : response.status;
}

describe("holds:", () => {
  test("a loop of tool calls over Responses, continued by id", async () => {
    const kv = createSimulatedKv();
    const engine = scriptedEngine(loopScripts("one"));
    const app = responsesApp({ engine, store: createKvStore(kv.at("here")) });
    await holdLoop(
      (body) => {
        kv.beginInvocation();
        return create(app, body);
      },
      { byResponseId: true },
    );
    expect(engine.prompts.at(-1)).toContain("one 3");
    expect(kv.rejected).toEqual([]);
  });

  test("a stored response is read at once in any location that has not looked for it", async () => {
    const { here, there } = twoLocations();
    const { id } = await create(here, { input: "Hi." });
    expect(await look(here, id)).toBe("completed");
    expect(await look(there, id)).toBe("completed");
  });

  test("a short background response ends, though its end comes within a second of its beginning", async () => {
    const { kv, here } = twoLocations();
    const { id } = await create(here, BACKGROUND);
    await vi.advanceTimersByTimeAsync(3_000);
    expect(await look(here, id)).toBe("completed");
    expect(new Set(kv.rejected)).toEqual(new Set(["KV PUT failed: 429 Too Many Requests"]));
  });

  test("a background response that runs is not reported as failed where an old heartbeat is cached", async () => {
    const { kv, here, there } = twoLocations({ write: ANSWER.slice(0, 40), hang: true });
    const { id } = await create(here, BACKGROUND);
    await vi.advanceTimersByTimeAsync(2_000);
    for (let seconds = 0; seconds < 150; seconds += 5) {
      kv.beginInvocation();
      expect(await look(there, id)).toBe("in_progress");
      await vi.advanceTimersByTimeAsync(5_000);
    }
    await settled(here.send("POST", `/v1/responses/${id}/cancel`));
  });

  test("one followed elsewhere comes whole, if late", async () => {
    const { kv, here, there } = twoLocations();
    const invocations = setInterval(() => kv.beginInvocation(), 10_000);
    const { id } = await create(here, BACKGROUND);
    const events = await settled(
      readEvents(await settled(there.send("GET", `/v1/responses/${id}?stream=true`))),
      50,
    );
    clearInterval(invocations);
    expect(consume(events).status).toBe("completed");
  });

  test("a request that exhausts its operations disturbs no other request of the isolate", async () => {
    const kv = createSimulatedKv();
    const engine = scriptedEngine(() => ANSWER);
    const app = createTestApp({ engine, store: createKvStore(kv.at("here")) });
    const toolCall = (n: number) => ({
      id: `call_${n}`,
      type: "function",
      function: { name: "step", arguments: "{}" },
    });
    const messages = Array.from({ length: 999 }, (_, n) => [
      { role: "assistant", content: null, tool_calls: [toolCall(n)] },
      { role: "tool", tool_call_id: `call_${n}`, content: "ok" },
    ]).flat();
    const first = { role: "user", content: "Go." };
    kv.beginInvocation();
    const ask = { messages: [first, ...messages], tools: [STEP_TOOL] };
    expect((await settled(app.post(ask))).status).toBe(200);
    const again = await settled(app.post({ messages: [first] }));
    expect(again.status).toBe(200);
    expect(
      await app.counter('harmony_gateway_store_failures_total{operation="get",failure="resting"}'),
    ).toBe(undefined);
  });
});

describe("does not hold:", () => {
  test("a conversation that is changed twice within a second: the second change is refused with 503", async () => {
    const { here } = twoLocations();
    const made = await settled(here.send("POST", "/v1/conversations", {}));
    const { id } = z.object({ id: z.string() }).parse(await settled(made.json()));
    const add = () =>
      here.send("POST", `/v1/conversations/${id}/items`, {
        items: [{ type: "message", role: "user", content: "Hi." }],
      });
    expect((await settled(add())).status).toBe(503);
    await vi.advanceTimersByTimeAsync(1_000);
    expect((await settled(add())).status).toBe(200);
  });

  test("a response that was read too early is missing in that location for a minute", async () => {
    const kv = createSimulatedKv();
    const there = createKvStore(kv.at("there"));
    const here = createKvStore(kv.at("here"));
    expect(await there.get("a")).toBe(undefined);
    await here.set("a", "x", 3600, "alice");
    expect(await there.get("a")).toBe(undefined);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await there.get("a")).toBe("x");
  });

  test("a cancel from another location reaches the engine only after a minute", async () => {
    const { kv, here, there } = twoLocations({ write: ANSWER.slice(0, 40), hang: true });
    const { id } = await create(here, BACKGROUND);
    await vi.advanceTimersByTimeAsync(5_000);
    const cancelled = await settled(there.send("POST", `/v1/responses/${id}/cancel`));
    expect(cancelled.status).toBe(200);
    await vi.advanceTimersByTimeAsync(30_000);
    kv.beginInvocation();
    expect(await look(here, id)).toBe("in_progress");
    await vi.advanceTimersByTimeAsync(40_000);
    kv.beginInvocation();
    expect(await look(here, id)).toBe("cancelled");
  });

  test("a background response that runs for minutes within one invocation: its operations are used up", async () => {
    const kv = createSimulatedKv();
    const words = Array.from({ length: 6000 }, (_, n) => ` word${n % 10}`).join("");
    const engine = scriptedEngine(() => `<|channel|>final<|message|>Here:${words}<|return|>`);
    const slow: ScriptedEngine = {
      ...engine,
      async *complete(request, signal) {
        for await (const event of engine.complete(request, signal)) {
          await sleep(25, signal);
          yield event;
        }
      },
    };
    const here = responsesApp({ engine: slow, store: createKvStore(kv.at("here")) });
    const { id } = await create(here, BACKGROUND);
    await vi.advanceTimersByTimeAsync(200_000);
    expect(kv.rejected).toContain("Too many API requests by single Worker invocation.");
    kv.beginInvocation();
    await settled(here.send("POST", `/v1/responses/${id}/cancel`));
  });
});
