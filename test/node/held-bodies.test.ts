/** Memory that a stream holds for its request while the stream is written. */
import { request, type ServerResponse } from "node:http";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import type { Engine } from "../../src/index.ts";
import { MODEL } from "../helpers/browsing-app.ts";
import { startTestGateway } from "../helpers/gateway.ts";
import { pngOf } from "../helpers/png.ts";
import { scriptedEngine } from "../helpers/scripted-engine.ts";
import { sendDescription, startVisionServer } from "../helpers/vision-server.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = z.function().parse(runInNewContext("gc"));

/** Bytes of a body: much more than other allocations of the process. */
const BYTES = 24_000_000;

function heldBytes(): number {
  collectGarbage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

/** An engine that accepts a request, and is silent until its client leaves. Unlike a scripted engine, it keeps no request. */
function silentEngine(onCall: () => void): Engine {
  const engine = scriptedEngine([]);
  return {
    name: engine.name,
    capabilities: engine.capabilities,
    probe: (signal) => engine.probe(signal),
    async *complete(_, signal) {
      yield { type: "open" };
      onCall();
      await new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      });
    },
  };
}

/** An image that differs for each tag, since a known image is not described again. */
function imageOf(tag: string) {
  return { type: "image_url", image_url: { url: `data:image/png;base64,${pngOf(2, 2, tag)}` } };
}

test.each([
  ["begins with its request prepared", () => "Hi"],
  ["begins before its image is described", (tag: string) => [imageOf(tag)]],
])("a stream that %s does not hold the body of its request", async (_, toContent) => {
  const waiting: ServerResponse[] = [];
  const vision = await startVisionServer(() => (response) => void waiting.push(response));
  let calls = 0;
  const gateway = await startTestGateway({
    engine: silentEngine(() => (calls += 1)),
    settings: { ...vision.settings, keepAliveMs: 20 },
  });
  onTestFinished(() => gateway.close());
  /** Begins a stream. Resolves when its head has arrived and the engine has accepted the request. */
  const begin = async (padding: number) => {
    const content = toContent(String(padding));
    const body = { model: MODEL, stream: true, messages: [{ role: "user", content }] };
    const text = JSON.stringify({ ...body, padding: "x".repeat(padding) });
    const sent = request(`${gateway.baseURL}/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", "content-length": text.length },
    });
    sent.on("error", () => {});
    onTestFinished(() => void sent.destroy());
    const before = calls;
    const responded = new Promise<void>((resolve) => {
      sent.on("response", (response) => {
        response.on("error", () => {}).resume();
        resolve();
      });
    });
    sent.end(text);
    await responded;
    const called = () => {
      for (const response of waiting.splice(0)) sendDescription(response, "A cat.");
      return calls;
    };
    await expect.poll(called).toBe(before + 1);
  };
  await begin(0);
  const before = heldBytes();
  await begin(BYTES);
  await expect.poll(heldBytes).toBeLessThan(before + BYTES / 4);
});
