import { once } from "node:events";
import { expect, test } from "vitest";
import { WebSocket } from "ws";
import { createDemoEngine } from "../../src/engines/demo.ts";
import type { Engine } from "../../src/engines/engine.ts";
import { createPushStream, consume } from "../../src/streams/push-stream.ts";
import { startTestGateway } from "../helpers/gateway.ts";

const MESSAGES = 12;
const BYTES = 3_000_000;

/** Answers nobody before it is let go. */
function heldEngine(go: Promise<void>): Engine {
  const engine = createDemoEngine();
  return {
    ...engine,
    complete: (request, signal) =>
      createPushStream(async (take) => {
        await go;
        await consume(engine.complete(request, signal), take);
      }),
  };
}

test("messages that one socket sends ahead wait at the client, not in the gateway", async () => {
  const go = Promise.withResolvers<void>();
  const gateway = await startTestGateway({
    engine: heldEngine(go.promise),
    settings: { maxBodyBytes: BYTES + 1_000 },
  });
  const socket = new WebSocket(`${gateway.baseURL.replace("http", "ws")}/responses`);
  try {
    await once(socket, "open");
    const ends: string[] = [];
    const all = Promise.withResolvers<void>();
    socket.on("message", (data: Buffer) => {
      const { type } = JSON.parse(data.toString("utf8"));
      if (type !== "response.completed" && type !== "error") return;
      ends.push(type);
      if (ends.length === MESSAGES) all.resolve();
    });
    const strays = "x".repeat(BYTES);
    const create = { type: "response.create", model: "openai/gpt-oss-20b", input: "Hi" };
    const message = JSON.stringify({ ...create, store: false, strays });
    for (let n = 0; n < MESSAGES; n += 1) socket.send(message);
    // Time enough to read all of it, if it were read.
    for (let n = 0; n < 100; n += 1) {
      expect((await fetch(`${gateway.origin}/health`)).status).toBe(200);
    }
    // One is being answered, two wait, one has been begun; and what the system's buffers take.
    expect(socket.bufferedAmount).toBeGreaterThan(((MESSAGES - 4) / 2) * BYTES);
    go.resolve();
    await all.promise;
    expect(ends).toEqual(Array(MESSAGES).fill("response.completed"));
  } finally {
    socket.terminate();
    await gateway.close();
  }
});
