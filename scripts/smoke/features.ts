/** The features that are tried on each runtime, in the order of the table. */
import { setTimeout } from "node:timers/promises";
import { WebSocket } from "ws";
import * as z from "zod";
import { createDemoEngine } from "../../src/engines/demo.ts";
import type { EngineServer } from "../../test/helpers/engine-server.ts";
import { type Script, scriptedEngine } from "../../test/helpers/scripted-engine.ts";
import {
  analysisIn,
  forgetful,
  loopScripts,
  type Post,
  runLoop,
} from "../../test/helpers/tool-loop.ts";

const MODEL = "openai/gpt-oss-20b";
const ANSWER = "<|channel|>final<|message|>Fine<|return|>";
const HANGING: Script = { write: "<|channel|>analysis<|message|>Hm.", hang: true };
const HELLO = { messages: [{ role: "user", content: "How are you?" }] };

/** A gateway that is being tried. */
export interface Tried {
  readonly origin: string;
  /** The only client's key. */
  readonly key: string;
  /** The engine behind it. */
  readonly server: EngineServer;
}

export interface Feature {
  readonly name: string;
  readonly holds: (tried: Tried) => Promise<boolean>;
}

export const FEATURES: readonly Feature[] = [
  {
    name: "ready",
    holds: ({ origin }) => until(async () => (await fetch(`${origin}/ready`)).ok),
  },
  { name: "Chat Completions", holds: answers("/v1/chat/completions", HELLO) },
  { name: "Responses", holds: answers("/v1/responses", { model: MODEL, input: "Hi." }) },
  {
    name: "Messages",
    holds: answers("/v1/messages", { model: MODEL, max_tokens: 100, ...HELLO }),
  },
  { name: "a stream", holds: streams },
  { name: "a schema is met", holds: meetsSchema },
  { name: "a key is required", holds: requiresKey },
  { name: "reasoning restored to a client that forgets it", holds: restoresReasoning },
  { name: "a background response", holds: runsInBackground },
  { name: "a WebSocket", holds: takesSockets },
  { name: "a client that leaves stops the engine", holds: stopsEngine },
];

function answers(path: string, body: object): Feature["holds"] {
  return async (tried) => {
    tried.server.serve(scriptedEngine(() => ANSWER));
    const response = await send(tried, path, body);
    return response.status === 200 && (await response.text()).includes("Fine");
  };
}

/** Several times: a runtime may frame a body otherwise when its first events come together with its head. */
async function streams(tried: Tried): Promise<boolean> {
  tried.server.serve(scriptedEngine(() => ANSWER));
  for (let attempt = 0; attempt < 20; attempt++) {
    const response = await send(tried, "/v1/chat/completions", { ...HELLO, stream: true });
    const text = await response.text();
    const areEvents = text.split("\n").every((line) => /^(?:data: .*|:.*|)$/.test(line));
    if (!areEvents || !text.includes("Fine") || !text.endsWith("data: [DONE]\n\n")) return false;
  }
  return true;
}

const completion = z.object({
  choices: z.array(z.object({ message: z.object({ content: z.string() }) })),
});

async function meetsSchema(tried: Tried): Promise<boolean> {
  tried.server.serve(createDemoEngine());
  const schema = {
    type: "object",
    properties: { city: { type: "string" }, days: { type: "integer" } },
    required: ["city", "days"],
    additionalProperties: false,
  };
  const format = { type: "json_schema", json_schema: { name: "trip", strict: true, schema } };
  const response = await send(tried, "/v1/chat/completions", { ...HELLO, response_format: format });
  const [choice] = completion.parse(await response.json()).choices;
  const trip = z.strictObject({ city: z.string(), days: z.int() });
  return trip.safeParse(JSON.parse(choice?.message.content ?? "null")).success;
}

async function requiresKey(tried: Tried): Promise<boolean> {
  const response = await send({ ...tried, key: "wrong" }, "/v1/chat/completions", HELLO);
  await response.text();
  return response.status === 401;
}

async function restoresReasoning(tried: Tried): Promise<boolean> {
  const engine = scriptedEngine(loopScripts("one"));
  tried.server.serve(engine);
  const post: Post = (body, headers) => send(tried, "/v1/chat/completions", body, headers);
  await runLoop(post, { remember: forgetful, body: { stream: true } });
  return analysisIn(engine.prompts.at(-1)).join() === "one 1,one 2,one 3";
}

const stored = z.object({ id: z.string(), status: z.string() });

async function runsInBackground(tried: Tried): Promise<boolean> {
  tried.server.serve(scriptedEngine(() => ANSWER));
  const body = { model: MODEL, input: "Hi.", background: true };
  const { id } = stored.parse(await (await send(tried, "/v1/responses", body)).json());
  return until(async () => {
    const headers = { authorization: `Bearer ${tried.key}` };
    const response = await fetch(`${tried.origin}/v1/responses/${id}`, { headers });
    return stored.parse(await response.json()).status === "completed";
  });
}

async function takesSockets(tried: Tried): Promise<boolean> {
  tried.server.serve(scriptedEngine(() => ANSWER));
  const url = `${tried.origin.replace("http", "ws")}/v1/responses`;
  const socket = new WebSocket(url, { headers: { authorization: `Bearer ${tried.key}` } });
  try {
    return await new Promise<boolean>((resolve) => {
      socket.once("open", () => {
        socket.send(JSON.stringify({ type: "response.create", model: MODEL, input: "Hi." }));
      });
      socket.on("message", (message) => {
        if (Buffer.isBuffer(message) && message.includes('"response.completed"')) resolve(true);
      });
      socket.once("error", () => resolve(false));
      socket.once("close", () => resolve(false));
      void setTimeout(10_000, undefined, { ref: false }).then(() => resolve(false));
    });
  } finally {
    socket.terminate();
  }
}

async function stopsEngine(tried: Tried): Promise<boolean> {
  const engine = scriptedEngine(() => HANGING);
  tried.server.serve(engine);
  const response = await send(tried, "/v1/chat/completions", { ...HELLO, stream: true });
  const reader = response.body?.getReader();
  await reader?.read();
  const began = engine.open === 1;
  await reader?.cancel();
  return began && (await until(async () => engine.open === 0));
}

function send(
  { origin, key }: Tried,
  path: string,
  body: object,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(origin + path, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      authorization: `Bearer ${key}`,
      ...headers,
    },
    body: JSON.stringify(body),
  });
}

async function until(holds: () => Promise<boolean>): Promise<boolean> {
  for (let attempt = 0; attempt < 100; attempt++) {
    if (await holds().catch(() => false)) return true;
    await setTimeout(100);
  }
  return false;
}
