/**
 * The 17 tests of the Open Responses compliance suite (2026-04-24), rewritten: each test has the suite's name, request and
 * checks. The suite itself is a separate program; `docs/responses.md` has the command that runs it.
 */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { openResponsesEvent, responseObject } from "../api/responses/schemas.ts";
import { startTestGateway } from "../helpers/gateway.ts";
import { parseEvents } from "../helpers/replies.ts";

const MODEL = "openai/gpt-oss-20b";
const PIXEL =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const said = (role: string, content: unknown, more = {}) => ({
  type: "message",
  role,
  content,
  ...more,
});

const completed = responseObject.refine(
  ({ status, output }) => status === "completed" && output.length > 0,
);

const webSocketError = z.object({
  type: z.literal("error"),
  status: z.int(),
  error: z.object({ code: z.string(), message: z.string() }),
});

const compaction = z.strictObject({
  id: z.string(),
  object: z.literal("response.compaction"),
  // The user's messages stay before the item.
  output: z.array(
    z.discriminatedUnion("type", [
      z.strictObject({
        id: z.string(),
        type: z.literal("message"),
        role: z.literal("user"),
        status: z.literal("completed"),
        content: z.array(z.strictObject({ type: z.literal("input_text"), text: z.string() })),
      }),
      z.strictObject({
        id: z.string(),
        type: z.literal("compaction"),
        encrypted_content: z.string(),
      }),
    ]),
  ),
  created_at: z.int(),
  usage: responseObject.shape.usage.unwrap(),
});

/** Each test takes the address of an API, and throws when the API does not comply. */
type Check = (baseUrl: string) => Promise<unknown>;

async function post(url: string, body: object, status = 200): Promise<Response> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (response.status !== status) throw new Error(`${response.status}: ${await response.text()}`);
  return response;
}

/** Throws for an event or item that the schema does not list; the error names its type. */
function readEvent(event: unknown) {
  const read = openResponsesEvent.safeParse(event);
  if (read.success) return read.data;
  throw new Error(JSON.stringify(event), { cause: read.error });
}

const create =
  (body: object): Check =>
  async (baseUrl) =>
    completed.parse(await (await post(`${baseUrl}/responses`, { model: MODEL, ...body })).json());

/** Sends messages one by one, each after the answer to the one before. Resolves with the last event of each answer. */
async function session(
  baseUrl: string,
  ...messages: ((answers: z.infer<typeof answer>[]) => object)[]
) {
  const socket = new WebSocket(`${baseUrl.replace("http", "ws")}/responses`);
  const answers: z.infer<typeof answer>[] = [];
  return new Promise<typeof answers>((resolve, reject) => {
    const next = () => {
      const message = messages[answers.length];
      if (message) {
        const body = { type: "response.create", model: MODEL, store: false, ...message(answers) };
        return socket.send(JSON.stringify(body));
      }
      socket.close();
      resolve(answers);
    };
    socket.addEventListener("open", next);
    socket.addEventListener("error", () => reject(new Error("the socket failed")));
    socket.addEventListener("message", ({ data }) => {
      try {
        const event: unknown = JSON.parse(String(data));
        const { type } = z.object({ type: z.string() }).parse(event);
        if (type === "error") webSocketError.parse(event);
        else readEvent(event);
        if (!TERMINAL.has(type)) return;
        answers.push(answer.parse(event));
        next();
      } catch (error) {
        reject(error);
      }
    });
  });
}

const TERMINAL = new Set(["response.completed", "response.incomplete", "response.failed", "error"]);

const answer = z.object({
  type: z.string(),
  response: responseObject.optional(),
  error: z.object({ code: z.string() }).optional(),
});

const previous = (answers: z.infer<typeof answer>[]) => ({
  previous_response_id: answers[0]?.response?.id,
});

const CHECKS: Readonly<Record<string, Check>> = {
  "basic-response": create({ input: [said("user", "Say hello in exactly 3 words.")] }),
  "assistant-phase": create({
    input: [
      said("assistant", "I should answer with the saved number.", { phase: "commentary" }),
      said("assistant", "The number is four.", { phase: "final_answer" }),
      said("user", "Repeat only the number."),
    ],
  }),
  // The suite tests here only that its own schema has phases. Ours has them, too.
  "response-output-phase-schema": async () => {
    const { phase } = responseObject.shape.output.element.options[1].shape;
    for (const each of ["commentary", "final_answer"]) phase.parse(each);
  },
  "streaming-response": async (baseUrl) => {
    const body = { model: MODEL, input: [said("user", "Count from 1 to 5.")], stream: true };
    const text = await (await post(`${baseUrl}/responses`, body)).text();
    const events = parseEvents(text, z.unknown()).map((event) => readEvent(event));
    const last = events.at(-1);
    completed.parse(last && "response" in last ? last.response : undefined);
  },
  "websocket-response": async (baseUrl) => {
    const [last] = await session(baseUrl, () => ({ input: [said("user", "Count from 1 to 3.")] }));
    completed.parse(last?.response);
  },
  "websocket-sequential-responses": async (baseUrl) => {
    const answers = await session(
      baseUrl,
      () => ({ input: "Reply with exactly: first" }),
      () => ({ input: "Reply with exactly: second" }),
    );
    for (const { response } of answers) completed.parse(response);
  },
  "websocket-continuation": async (baseUrl) => {
    const answers = await session(
      baseUrl,
      () => ({ input: "Remember the code word: cobalt. Reply with OK." }),
      (so) => ({ ...previous(so), input: "What is the code word?" }),
    );
    for (const { response } of answers) completed.parse(response);
  },
  "websocket-reconnect-store-false-recovery": async (baseUrl) => {
    const first = await session(baseUrl, () => ({ input: "Remember: copper. Reply with OK." }));
    const [refused, recovered] = await session(
      baseUrl,
      () => ({ ...previous(first), input: "Continue." }),
      () => ({ input: [said("user", "Start again.")] }),
    );
    expect(refused?.error?.code).toBe("previous_response_not_found");
    completed.parse(recovered?.response);
  },
  "websocket-previous-response-not-found": async (baseUrl) => {
    const [refused] = await session(baseUrl, () => ({
      previous_response_id: "resp_openresponses_missing",
      input: "This should fail.",
    }));
    expect(refused?.error?.code).toBe("previous_response_not_found");
  },
  "websocket-failed-continuation-evicts-cache": async (baseUrl) => {
    const [made, failed, refused] = await session(
      baseUrl,
      () => ({ input: "Remember the code word: ember. Reply with OK." }),
      (so) => ({
        ...previous(so),
        input: [{ type: "function_call_output", call_id: "call_missing", output: "No call." }],
      }),
      (so) => ({ ...previous(so), input: "Try to continue." }),
    );
    completed.parse(made?.response);
    expect(failed?.type).toBe("error");
    expect(refused?.error?.code).toBe("previous_response_not_found");
  },
  "websocket-compact-new-chain": async (baseUrl) => {
    const body = {
      model: MODEL,
      input: [
        said("user", [{ type: "input_text", text: "Remember the code word: slate." }]),
        said("assistant", [{ type: "output_text", text: "OK." }]),
        said("user", [{ type: "input_text", text: "Compress this conversation." }]),
      ],
    };
    const { output } = compaction.parse(
      await (await post(`${baseUrl}/responses/compact`, body)).json(),
    );
    const [last] = await session(baseUrl, () => ({
      input: [...output, said("user", "Continue from here.")],
      tools: [],
    }));
    completed.parse(last?.response);
  },
  "system-prompt": create({
    input: [said("system", "You are a pirate."), said("user", "Say hello.")],
  }),
  "tool-calling": async (baseUrl) => {
    const response = await post(`${baseUrl}/responses`, {
      model: MODEL,
      input: [said("user", "What's the weather like in San Francisco?")],
      tools: [
        {
          type: "function",
          name: "get_weather",
          description: "Get the current weather for a location",
          parameters: {
            type: "object",
            properties: { location: { type: "string" } },
            required: ["location"],
          },
        },
      ],
    });
    const { output } = responseObject.parse(await response.json());
    expect(output.map(({ type }) => type)).toContain("function_call");
  },
  "image-input": create({
    input: [
      said("user", [
        { type: "input_text", text: "What do you see in this image?" },
        { type: "input_image", image_url: PIXEL },
      ]),
    ],
  }),
  "multi-turn": create({
    input: [
      said("user", "My name is Alice."),
      said("assistant", "Hello Alice! How can I help you today?"),
      said("user", "What is my name?"),
    ],
  }),
  "compact-response": async (baseUrl) => {
    const response = await post(`${baseUrl}/responses/compact`, {
      model: MODEL,
      prompt_cache_key: "openresponses-compact-test",
      input: [
        said("user", "We agreed to launch on Tuesday."),
        said("assistant", "Understood. The launch is Tuesday."),
      ],
    });
    expect(compaction.parse(await response.json()).output.length).toBeGreaterThan(0);
  },
  "compact-missing-model": (baseUrl) =>
    post(`${baseUrl}/responses/compact`, { input: [said("user", "Compact this.")] }, 400),
};

/** Tests that pass only where reasoning events have the names of the Open Responses schema. */
const NEED_ITS_NAMES = [
  "streaming-response",
  "websocket-response",
  "websocket-sequential-responses",
  "websocket-continuation",
  "websocket-reconnect-store-false-recovery",
  "websocket-failed-continuation-evicts-cache",
  "websocket-compact-new-chain",
];

/** A test that passes only where images are replaced by a placeholder. */
const NEEDS_PLACEHOLDER = ["image-input"];

/** Tests that do not pass, each with its reason. */
async function failures(baseUrl: string): Promise<Map<string, string>> {
  const failed = new Map<string, string>();
  for (const [name, check] of Object.entries(CHECKS)) {
    try {
      await check(baseUrl);
    } catch (error) {
      failed.set(name, String(error));
    }
  }
  return failed;
}

describe.each([
  { address: "/v1", mediaInput: "refuse", not: [...NEED_ITS_NAMES, ...NEEDS_PLACEHOLDER] },
  { address: "/v1", mediaInput: "placeholder", not: NEED_ITS_NAMES },
  { address: "/open-responses/v1", mediaInput: "refuse", not: NEEDS_PLACEHOLDER },
  { address: "/open-responses/v1", mediaInput: "placeholder", not: [] },
])("at $address, images: $mediaInput", ({ address, mediaInput, not }) => {
  test(`of 17 tests, ${17 - not.length} hold`, async () => {
    const gateway = await startTestGateway({ settings: { mediaInput } });
    const failed = await failures(gateway.origin + address);
    await gateway.close();
    expect([...failed.keys()]).toEqual(not);
    for (const name of not) {
      const expected = name === "image-input" ? "text-only" : "response.reasoning_text.delta";
      expect(failed.get(name)).toContain(expected);
    }
    expect(Object.keys(CHECKS).length).toBe(17);
  });
});
