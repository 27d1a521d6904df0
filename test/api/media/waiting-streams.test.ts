/** Streams whose images are being described: their head and keep-alives do not wait for the descriptions. */
import type { ServerResponse } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { EngineError } from "../../../src/index.ts";
import { startTestGateway } from "../../helpers/gateway.ts";
import { type Script, scriptedEngine } from "../../helpers/scripted-engine.ts";
import { pngOf } from "../../helpers/png.ts";
import { sendDescription, startVisionServer } from "../../helpers/vision-server.ts";
import { MODEL } from "../../helpers/browsing-app.ts";

const ANSWER = "<|channel|>final<|message|>Seen<|return|>";

const url = (tag: string) => `data:image/png;base64,${pngOf(2, 2, tag)}`;
const chatBody = (tags: readonly string[]) => ({
  messages: [
    {
      role: "user",
      content: tags.map((tag) => ({ type: "image_url", image_url: { url: url(tag) } })),
    },
  ],
});

const RESPONSES = {
  path: "/responses",
  toBody: (tags: readonly string[]) => ({
    input: [
      { role: "user", content: tags.map((tag) => ({ type: "input_image", image_url: url(tag) })) },
    ],
  }),
  keepAlive: /^: HARMONY-GATEWAY PROCESSING$/m,
  wrong: { tool_choice: { type: "function", name: "none" } },
  failure: /^event: error\ndata: .*"type":"error"/m,
};

const APIS = [
  {
    name: "Chat Completions",
    path: "/chat/completions",
    toBody: chatBody,
    keepAlive: /^: HARMONY-GATEWAY PROCESSING$/m,
    wrong: { tool_choice: { type: "function", function: { name: "none" } } },
    failure: /^data: \{.*"error":\{/m,
  },
  { name: "Responses", ...RESPONSES },
  {
    name: "Responses in the background",
    ...RESPONSES,
    toBody: (tags: readonly string[]) => ({ background: true, ...RESPONSES.toBody(tags) }),
  },
  {
    name: "Messages",
    path: "/messages",
    toBody: (tags: readonly string[]) => ({
      max_tokens: 100,
      messages: [
        {
          role: "user",
          content: tags.map((tag) => ({
            type: "image",
            source: { type: "base64", media_type: "image/png", data: pngOf(2, 2, tag) },
          })),
        },
      ],
    }),
    keepAlive: /^event: ping$/m,
    wrong: { tool_choice: { type: "tool", name: "none" } },
    failure: /^event: error\ndata: .*"type":"error"/m,
  },
] as const;

/** A gateway whose vision model answers when it is allowed to. */
async function open(script: Script = ANSWER) {
  const waiting: ServerResponse[] = [];
  const vision = await startVisionServer(() => (response) => void waiting.push(response));
  const engine = scriptedEngine(() => script);
  const gateway = await startTestGateway({
    engine,
    settings: { ...vision.settings, keepAliveMs: 20, shutdownGraceMs: 2000 },
  });
  onTestFinished(() => gateway.close());
  const post = (path: string, body: object, signal?: AbortSignal) =>
    fetch(gateway.baseURL + path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: MODEL, stream: true, ...body }),
      ...(signal && { signal }),
    });
  const describe = () => {
    for (const response of waiting.splice(0)) sendDescription(response, "A cat.");
  };
  return { vision, engine, gateway, post, describe };
}

/** The body, and `seen` with what has arrived so far. */
async function read(response: Response, seen: (text: string) => void): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const bytes of response.body ?? []) {
    text += decoder.decode(bytes, { stream: true });
    seen(text);
  }
  return text;
}

test.each(APIS)("$name: the head and keep-alives come before a slow description", async (api) => {
  const { post, describe, engine } = await open();
  const response = await post(api.path, api.toBody(["a"]));
  expect(response.status).toBe(200);
  expect(response.headers.get("x-request-id")).not.toBeNull();
  expect(response.headers.get("x-harmony-reasoning-effort")).toBe("medium");
  // Nothing is known of it yet.
  expect(response.headers.get("x-harmony-media")).toBeNull();
  expect(engine.requests).toEqual([]);
  const text = await read(response, (seen) => {
    if (api.keepAlive.test(seen)) describe();
  });
  expect(text).toMatch(api.keepAlive);
  expect(text).toContain("Seen");
  expect(engine.prompts[0]).toContain("> A cat.");
});

test.each(APIS)("$name: a failure behind the head is an error of the stream", async (api) => {
  const { post, describe, engine, gateway } = await open();
  const response = await post(api.path, { ...api.toBody(["a"]), ...api.wrong });
  expect(response.status).toBe(200);
  describe();
  const text = await read(response, () => describe());
  expect(text).toMatch(api.failure);
  expect(text).toContain("tool_choice");
  expect(engine.requests).toEqual([]);
  await expect
    .poll(() => gateway.logged)
    .toContainEqual(
      expect.objectContaining({ status: 200, reason: expect.stringContaining("tool_choice") }),
    );
});

test.each(APIS)("$name: an engine that refuses is an error of the stream", async (api) => {
  const { post, describe } = await open({ refuse: new EngineError("unreachable", "it is gone") });
  const response = await post(api.path, api.toBody(["a"]));
  const text = await read(response, (seen) => {
    if (api.keepAlive.test(seen)) describe();
  });
  expect(text).toMatch(/"error":\{|response\.failed/);
});

test.each(APIS)("$name: a client that leaves meanwhile leaves nothing behind", async (api) => {
  const { post, describe, vision, engine, gateway } = await open();
  const abort = new AbortController();
  // Four are described at a time, and the fifth waits.
  const response = await post(api.path, api.toBody(["a", "b", "c", "d", "e"]), abort.signal);
  expect(response.status).toBe(200);
  await expect.poll(() => vision.images.length).toBe(4);
  abort.abort();
  await expect(response.text()).rejects.toThrow(/abort/);
  // The next request's image is described as soon as there is room, and that of the request that left is not.
  const next = await post(api.path, api.toBody(["f"]));
  const text = await read(next, () => describe());
  expect(text).toContain("Seen");
  expect(vision.images.slice(4)).toEqual([url("f")]);
  expect(engine.requests).toHaveLength(1);
  expect(await gateway.counter('images_total{outcome="failed"}')).toBeUndefined();
});

test.each(APIS)("$name: a shutdown ends the wait with its error", async (api) => {
  const { post, gateway, engine } = await open();
  const response = await post(api.path, api.toBody(["a"]));
  expect(response.status).toBe(200);
  const text = response.text();
  await gateway.close();
  expect(await text).toMatch(api.failure);
  expect(await text).toContain("The gateway is shutting down.");
  expect(engine.requests).toEqual([]);
});

test.each(APIS)("$name: a shutdown ends the wait of a plain request, too", async (api) => {
  const { post, gateway, vision } = await open();
  const answered = post(api.path, { ...api.toBody(["a"]), stream: false });
  await expect.poll(() => vision.images.length).toBe(1);
  await gateway.close();
  const response = await answered;
  // Anthropic has a status of its own for a server that is busy.
  expect(response.status).toBe(api.path === "/messages" ? 529 : 503);
  expect(await response.text()).toContain("The gateway is shutting down.");
});
