/**
 * Background responses over stores of any speed. All clocks are fake: the store takes its time, and the engine writes a token
 * every 25 ms.
 */
import { describe, expect, test, vi } from "vitest";
import { createMemoryStore, type Store } from "../../../src/index.ts";
import { settled, useFakeTime } from "../../helpers/fake-time.ts";
import { type ScriptedEngine, scriptedEngine } from "../../helpers/scripted-engine.ts";
import { consume } from "./consumer.ts";
import { responseObject } from "./schemas.ts";
import { MODEL, readEvents, type ResponsesApp, responsesApp } from "./support.ts";

const TOKEN_MS = 25;
const WORDS = Array.from({ length: 1600 }, (_, n) => ` word${n % 10}`).join("");
const ANSWER = `<|channel|>final<|message|>Here:${WORDS}<|return|>`;
const REQUEST = { model: MODEL, input: "Hi.", background: true };

useFakeTime();

const sleep = (ms: number) =>
  new Promise<void>((resolve) => {
    setTimeout(resolve, ms);
  });

/** A memory store whose operations take `ms`, and a record of its writes. */
function slowStore(ms: number) {
  const memory = createMemoryStore({ maxEntries: 10_000, maxBytes: 1e9, now: () => Date.now() });
  const writes: { readonly kind: string; readonly at: number }[] = [];
  const wait = () => (ms === 0 ? Promise.resolve() : sleep(ms));
  const store: Store = {
    async get(key) {
      await wait();
      return memory.get(key);
    },
    async set(key, ...rest) {
      writes.push({ kind: key.slice(0, key.indexOf(":")), at: Date.now() });
      await wait();
      return memory.set(key, ...rest);
    },
    async delete(key) {
      await wait();
      return memory.delete(key);
    },
  };
  return { store, writes };
}

function slowEngine(): ScriptedEngine {
  const engine = scriptedEngine(() => ANSWER);
  return {
    ...engine,
    get open() {
      return engine.open;
    },
    async *complete(request, signal) {
      for await (const event of engine.complete(request, signal)) {
        await sleep(TOKEN_MS);
        yield event;
      }
    },
  };
}

async function start(app: ResponsesApp): Promise<string> {
  const response = await settled(app.send("POST", "/v1/responses", REQUEST));
  return responseObject.parse(await settled(response.json())).id;
}

async function look(app: ResponsesApp, id: string) {
  const response = await settled(app.send("GET", `/v1/responses/${id}`));
  return responseObject.parse(await settled(response.json()));
}

async function follow(app: ResponsesApp, id: string) {
  return readEvents(await app.send("GET", `/v1/responses/${id}?stream=true`));
}

describe.each([0, 5, 30, 300])("with a store that takes %i ms", (ms) => {
  test("it never counts as failed, and its writes are few", async () => {
    const { store, writes } = slowStore(ms);
    const one = responsesApp({ engine: slowEngine(), store });
    const other = responsesApp({ engine: scriptedEngine([]), store });
    const id = await start(one);
    const following = follow(other, id);
    let response = await look(other, id);
    while (response.status === "queued" || response.status === "in_progress") {
      await vi.advanceTimersByTimeAsync(500);
      response = await look(other, id);
    }
    expect(response.status).toBe("completed");
    expect(consume(await settled(following))).toEqual(response);

    const beats = writes.filter(({ kind }) => kind === "response-heartbeat").map(({ at }) => at);
    for (const [index, at] of beats.entries()) {
      expect(at - (beats[index - 1] ?? at)).toBeLessThanOrEqual(2_000);
    }
    expect(beats.length).toBeGreaterThan(20);
    // Queued, in progress, ended: a long input is not written again with each heartbeat.
    expect(writes.filter(({ kind }) => kind === "response").length).toBeLessThanOrEqual(4);
    for (const { at } of writes) {
      const within = writes.filter((each) => each.at >= at && each.at < at + 1000);
      expect(within.length).toBeLessThanOrEqual(7);
    }
  });

  test("a cancel at another gateway reaches the engine within two seconds", async () => {
    const { store } = slowStore(ms);
    const engine = slowEngine();
    const one = responsesApp({ engine, store });
    const other = responsesApp({ engine: scriptedEngine([]), store });
    const id = await start(one);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(engine.open).toBe(1);
    const cancelled = await settled(other.send("POST", `/v1/responses/${id}/cancel`));
    expect(cancelled.status).toBe(200);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(engine.open).toBe(0);
    expect((await look(other, id)).status).toBe("cancelled");
  });
});

test("a piece whose write seemed to fail is written again as it was: whoever has read it misses nothing", async () => {
  const { store } = slowStore(0);
  let lost = 0;
  const doubtful: Store = {
    ...store,
    async set(key, ...rest) {
      const isKept = await store.set(key, ...rest);
      if (key.startsWith("response-events:") && ++lost % 2 === 0) throw new Error("no answer");
      return isKept;
    },
  };
  const one = responsesApp({ engine: slowEngine(), store: doubtful });
  const other = responsesApp({ engine: scriptedEngine([]), store });
  const id = await start(one);
  const events = await settled(follow(other, id), 50);
  expect(consume(events)).toEqual(await look(other, id));
  expect(events.at(-1)?.type).toBe("response.completed");
});
