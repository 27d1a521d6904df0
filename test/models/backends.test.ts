import { describe, expect, test } from "vitest";
import { assemble } from "../../src/gateway.ts";
import { EngineError, type Transport } from "../../src/index.ts";
import { bodyOf, type Answer, jsonAnswer, scriptTransport } from "../engines/support.ts";
import { testLog, testSettings } from "../helpers/gateway.ts";
import { requestText } from "../helpers/request-text.ts";

type TransportRequest = Parameters<Transport>[0];

const THREE = [
  { engine: "vllm", url: "http://a:8000", aliases: ["small"], contextLength: 32_768 },
  { engine: "vllm", url: "http://b:8000", aliases: ["small", "fast"] },
  { engine: "sglang", url: "http://c:8000", servedName: "other" },
];

/** One token and a stop. */
const ANSWER = [
  { text: "", token_ids: [200005, 17196, 200008, 13225], finish_reason: null },
  { text: "", token_ids: [200002], finish_reason: "stop" },
]
  .map((choice) => `data: ${JSON.stringify({ choices: [{ index: 0, ...choice }] })}\n\n`)
  .join("")
  .concat("data: [DONE]\n\n");

const streamed: Answer = { pieces: [new TextEncoder().encode(ANSWER)] };

/** The answer of a healthy server. */
function answerWell({ method }: TransportRequest): Answer {
  return method === "GET" ? jsonAnswer({ data: [{ id: "openai/gpt-oss-20b" }] }) : streamed;
}

function serve(
  given: Readonly<Record<string, unknown>>,
  script: (request: TransportRequest) => Answer | Error | Promise<Answer>,
) {
  const transport = async (request: TransportRequest) => {
    const answer = await script(request);
    return scriptTransport(() => answer)(request);
  };
  const logged: Record<string, unknown>[] = [];
  const { app, models, enforce } = assemble(testSettings(given), {
    transport,
    log: testLog(logged),
  });
  enforce();
  const post = async (body: object, path = "/v1/chat/completions") =>
    app.request(path, { method: "POST", body: JSON.stringify(body) });
  const get = async (path: string) => app.request(path);
  return { models, post, get, logged };
}

const HELLO = { messages: [{ role: "user", content: "hi" }] };

test("backends of one served name are one model, with the aliases of all of them", () => {
  const { models } = serve({ backends: THREE }, () => streamed);
  const shown = models.all.map(({ id, provider, pool }) => [id, provider, pool?.backends.length]);
  expect(shown).toEqual([
    ["openai/gpt-oss-20b", "vllm", 2],
    ["other", "sglang", 1],
  ]);
  const found = ["small", "fast"].map((alias) => models.find(alias)?.model.id);
  expect(found).toEqual(["openai/gpt-oss-20b", "openai/gpt-oss-20b"]);
});

test("a model's context length is the shortest of its backends", async () => {
  const list = { data: [{ id: "openai/gpt-oss-20b", max_model_len: 16_384 }] };
  const { models } = serve({ backends: THREE.slice(0, 2) }, ({ url }) =>
    url.endsWith("/v1/models") ? jsonAnswer(list) : streamed,
  );
  const [model] = models.all;
  expect(model?.contextLength).toBe(32_768);
  await model?.probe(new AbortController().signal);
  expect(model?.contextLength).toBe(16_384);
});

test("a configured context length is sent to Ollama", async () => {
  const requests: TransportRequest[] = [];
  const settings = { engine: "ollama", model: "gpt-oss:20b", contextLength: 65_536 };
  const { post } = serve(settings, (request) => {
    requests.push(request);
    return {
      headers: { "content-type": "application/x-ndjson" },
      pieces: [new TextEncoder().encode('{"response":"","done":true,"done_reason":"stop"}\n')],
    };
  });
  await post(HELLO);
  expect(bodyOf(requests[0])).toMatchObject({ options: { num_ctx: 65_536 } });
});

test("a failure is logged with its backend", async () => {
  const { post, logged } = serve({ backends: [{ ...THREE[0], name: "north" }] }, () => ({
    status: 500,
    pieces: [new TextEncoder().encode('{"error":{"message":"out of order"}}')],
  }));
  expect((await post(HELLO)).status).toBe(502);
  expect(logged.find(({ event }) => event === "turn")).toMatchObject({
    error: "server-error",
    backend: "north",
  });
});

describe("a backend that is full", () => {
  const SETTINGS = { engine: "vllm", maxConcurrent: 1 };

  /** A gateway whose backend holds all requests until `letGo` is called. */
  function serveHolding(settings: object) {
    const held = Promise.withResolvers<Answer>();
    const gateway = serve({ ...SETTINGS, ...settings }, () => held.promise);
    return { ...gateway, letGo: () => held.resolve(streamed) };
  }

  test("queues requests, and those beyond the queue learn when to retry", async () => {
    const { post, get, letGo } = serveHolding({ maxQueued: 1 });
    const [first, second] = [post(HELLO), post(HELLO)];
    await expect
      .poll(async () => (await get("/metrics")).text())
      .toContain('harmony_gateway_completions_queued{model="openai/gpt-oss-20b"} 1\n');

    for (const [path, body] of [
      ["/v1/chat/completions", HELLO],
      ["/v1/responses", { input: "hi", model: "openai/gpt-oss-20b" }],
    ] as const) {
      for (const stream of [false, true]) {
        const refused = await post({ ...body, stream }, path);
        expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"]);
        expect(await refused.json()).toMatchObject({
          error: { message: expect.stringMatching(/^The engine is busy. Try again later./) },
        });
      }
    }

    letGo();
    expect((await first).status).toBe(200);
    expect((await second).status).toBe(200);
  });

  test("limits the time in the queue", async () => {
    const { post, letGo } = serveHolding({ queueTimeoutMs: 20 });
    const first = post(HELLO);
    const second = await post(HELLO);
    expect([second.status, second.headers.get("retry-after")]).toEqual([503, "1"]);
    letGo();
    expect((await first).status).toBe(200);
  });
});

test("a rate limit of a server is passed on with its own Retry-After", async () => {
  const { post } = serve({ engine: "vllm" }, () => ({
    ...jsonAnswer({ error: { message: "slow down" } }, 429),
    headers: { "content-type": "application/json", "retry-after": "17" },
  }));
  const refused = await post(HELLO);
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "17"]);
});

test("a server's message about a request is passed on, without its URL", async () => {
  const { post } = serve({ engine: "vllm", url: "http://secret-host:8000" }, () =>
    jsonAnswer({ error: { message: "temperature must be non-negative.", code: 400 } }, 400),
  );
  const refused = await post(HELLO);
  expect(refused.status).toBe(400);
  expect(await refused.json()).toMatchObject({
    error: { message: "The engine refused the request: temperature must be non-negative." },
  });
});

/** The error of a transport for an address without a server. */
const GONE = new EngineError("unreachable", "Cannot reach http://a:8000 (connection refused).");

describe("two backends, the first of which fails", () => {
  const isFirst = ({ url }: TransportRequest) => url.startsWith("http://a:8000");
  const failing = () =>
    serve({ backends: THREE.slice(0, 2) }, (request) =>
      isFirst(request) ? GONE : answerWell(request),
    );

  /** Conversations enough for both backends to be chosen first. */
  const conversations = Array.from({ length: 16 }, (_, n) => ({
    messages: [{ role: "user", content: `question ${n}` }],
  }));

  test("the other one answers, and /ready counts the failures", async () => {
    const { post, get } = failing();
    for (const body of conversations) expect((await post(body)).status).toBe(200);

    const ready = await get("/ready");
    expect(ready.status).toBe(200);
    const told = JSON.parse(await ready.text());
    // Once in each pause of the breaker: on a busy machine more than one passes.
    const { failed } = told.models[0].backends[0];
    expect(failed).toBeGreaterThan(0);
    expect(failed).toBeLessThan(conversations.length);
    expect(told).toEqual({
      status: "ready",
      models: [
        {
          id: "openai/gpt-oss-20b",
          state: "ready",
          queued: 0,
          backends: [
            {
              id: "vllm",
              engine: "vllm",
              health: "down",
              last_failure: { kind: "unreachable", at: expect.any(String) },
              in_flight: 0,
              succeeded: 0,
              failed,
            },
            {
              id: "vllm-2",
              engine: "vllm",
              health: "up",
              in_flight: 0,
              succeeded: conversations.length,
              failed: 0,
            },
          ],
        },
      ],
    });
    const metrics = await (await get("/metrics")).text();
    const labels = 'model="openai/gpt-oss-20b",backend="vllm';
    for (const line of [
      `harmony_gateway_backend_up{${labels}"} 0`,
      `harmony_gateway_backend_up{${labels}-2"} 1`,
      `harmony_gateway_backend_completions_in_flight{${labels}-2"} 0`,
      `harmony_gateway_backend_completions_total{${labels}",outcome="failed"} ${failed}`,
      `harmony_gateway_backend_completions_total{${labels}-2",outcome="succeeded"} ${conversations.length}`,
    ]) {
      expect(metrics).toContain(`${line}\n`);
    }
  });

  test("URLs are not revealed", async () => {
    const { get, models } = serve({ backends: THREE, keys: [`a:${"0".repeat(64)}`] }, () =>
      jsonAnswer({ error: { message: "dead" } }, 500),
    );
    await Promise.all(models.all.map((model) => model.probe(new AbortController().signal)));
    const ready = await get("/ready");
    expect(ready.status).toBe(503);
    expect(await ready.text()).not.toContain("http://");
  });
});

test("a ready model becomes unready when all its backends are down, until one answers a probe", async () => {
  let well = true;
  const { models, get, post } = serve({ engine: "vllm" }, (request) =>
    well ? answerWell(request) : GONE,
  );
  const { signal } = new AbortController();
  await models.all[0]?.probe(signal);
  expect((await get("/ready")).status).toBe(200);
  well = false;
  for (let failures = 0; failures < 3; failures++) expect((await post(HELLO)).status).toBe(502);
  // It is the last one left: it gets requests until probes say that it is down.
  expect((await get("/ready")).status).toBe(200);
  for (let probes = 0; probes < 2; probes++) await models.all[0]?.probe(signal);
  expect((await get("/ready")).status).toBe(503);
  well = true;
  expect((await get("/ready")).status).toBe(503);
  await models.all[0]?.probe(signal);
  expect((await get("/ready")).status).toBe(200);
});

test("a conversation stays with its backend", async () => {
  const hosts = new Map<string, Set<string>>();
  const { post } = serve({ backends: THREE.slice(0, 2) }, ({ url, body }) => {
    const text = requestText(body);
    const prompt = text.slice(0, text.indexOf("]"));
    hosts.set(prompt, (hosts.get(prompt) ?? new Set()).add(new URL(url).host));
    return streamed;
  });
  const all = new Set<string>();
  for (let n = 0; n < 8; n += 1) {
    const first = { role: "user", content: `conversation ${n}` };
    const turns = [
      [first],
      [first, { role: "assistant", content: "Hello" }, { role: "user", content: "more" }],
    ];
    hosts.clear();
    for (const messages of turns) await post({ messages });
    const used = [...hosts.values()].flatMap((each) => [...each]);
    expect(used).toHaveLength(2);
    expect(new Set(used).size).toBe(1);
    all.add(used[0] ?? "");
  }
  expect(all).toEqual(new Set(["a:8000", "b:8000"]));
});
