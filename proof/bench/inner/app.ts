/**
 * The whole application without sockets: requests are passed in as text, the engine is a scripted {@link Transport}.
 */
import { setImmediate } from "node:timers/promises";
import { createPause } from "../../../src/streams/slices.ts";
import { createApp } from "../../../src/app.ts";
import { settingsSchema } from "../../../src/config/settings.ts";
import { TEXT_CACHE_BYTES } from "../../../src/node/server/generation.ts";
import { createEngine, type Transport } from "../../../src/index.ts";
import type { RequestBody } from "../../../src/engines/transport.ts";
import { createLog } from "../../../src/telemetry/log.ts";
import { createModels } from "../../../src/models/models.ts";
import { MODEL } from "../streaming/requests.ts";

export function createBenchApp(transport: Transport) {
  const settings = settingsSchema.parse({});
  const engine = createEngine("vllm", { url: "http://127.0.0.1:1", model: MODEL, transport });
  let ids = 0;
  const randomId = () => `id${ids++}`;
  const pause = createPause(setImmediate);
  return createApp({
    textCacheBytes: TEXT_CACHE_BYTES,
    settings,
    pause,
    models: createModels([{ id: MODEL, engine }], { newCallId: randomId, pause }),
    log: createLog({ level: "silent", now: Date.now, write: () => {} }),
    now: Date.now,
    randomId,
  });
}

/**
 * A request whose body is read as under Hono's Node adapter: one decoding of its bytes. The `Request` of Node itself
 * passes them through a stream, which takes 2.9 ms for 440 KB, more than the gateway does with them.
 */
export function toRequest(path: string, body: string): Request {
  const bytes = Buffer.from(body);
  const request = new Request(`http://127.0.0.1${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", "content-length": String(bytes.length) },
  });
  const text = async (): Promise<string> => new TextDecoder().decode(bytes);
  const arrayBuffer = async (): Promise<ArrayBuffer> =>
    bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
  return Object.defineProperties(request, {
    text: { value: text },
    arrayBuffer: { value: arrayBuffer },
  });
}

/** The bytes of an engine, and where each of its reads ends in them. */
export interface Reads {
  readonly bytes: Uint8Array;
  readonly ends: readonly number[];
}

/** A transport that answers every completion with these reads. `onRequest` gets the body sent to the engine. */
export function createReplay(
  { bytes, ends }: Reads,
  onRequest: (body: RequestBody) => void = () => {},
): Transport {
  return async ({ body = "" }) => {
    onRequest(body);
    return {
      status: 200,
      headers: { get: (name) => (name === "content-type" ? "text/event-stream" : null) },
      // Each read arrives separately, as from a socket.
      pump: async (take) => {
        let from = 0;
        for (const end of ends) {
          await Promise.resolve();
          if (!(await take(bytes.subarray(from, end)))) return;
          from = end;
        }
      },
      close: () => {},
    };
  };
}
