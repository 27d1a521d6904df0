import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { createEngine, type Transport } from "../../../src/index.ts";
import { requestOf } from "../support.ts";
import { poolOf, settle } from "./support.ts";

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

const TOKEN =
  'data: {"choices":[{"index":0,"text":"a","finish_reason":null,"token_ids":[64]}]}\n\n';

/** An engine that goes silent after one token, and what it was sent. */
function createSilentEngine(silence: Promise<void>) {
  const bodies: WeakRef<object>[] = [];
  const transport: Transport = async ({ body }) => {
    if (typeof body === "object") bodies.push(new WeakRef(body));
    return {
      status: 200,
      headers: { get: () => "text/event-stream" },
      async pump(consumer) {
        await consumer(new TextEncoder().encode(TOKEN));
        await silence;
      },
      close: () => undefined,
    };
  };
  const engine = createEngine("vllm", { url: "http://engine", model: "m", transport });
  return { engine, bodies };
}

test("a stream keeps neither the request nor the body that was sent after its first token", async () => {
  const silence = Promise.withResolvers<void>();
  const { engine, bodies } = createSilentEngine(silence.promise);
  const begun = Promise.withResolvers<void>();

  /** A frame of its own: nothing here outlives the call. */
  function start() {
    const request = requestOf();
    const stream = poolOf([engine]).complete(request, new AbortController().signal);
    const ended = (async () => {
      for await (const event of stream) if (event.type !== "open") begun.resolve();
    })();
    return { request: new WeakRef(request), ended: ended.catch(() => undefined) };
  }

  const { request, ended } = start();
  await begun.promise;
  await settle();
  collectGarbage();
  expect(bodies).toHaveLength(1);
  expect(bodies[0]?.deref()).toBe(undefined);
  expect(request.deref()).toBe(undefined);
  silence.resolve();
  await ended;
});
