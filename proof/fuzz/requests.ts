/**
 * Sends random requests to the whole application, without a server and with the demo engine. For each: an answer in
 * time, below 500, in the right envelope, a stream that ends as its API requires, and nothing in the log that indicates
 * a defect.
 */
import { setImmediate, setTimeout as pause } from "node:timers/promises";
import * as z from "zod";
import { createApp } from "../../src/app.ts";
import { createFetchTransport, resolveSettings, settingsSchema } from "../../src/index.ts";
import { toModelOptions } from "../../src/models/backends.ts";
import { createLog } from "../../src/telemetry/log.ts";
import { createModels } from "../../src/models/models.ts";
import { createPause } from "../../src/streams/slices.ts";
import { findProblem } from "./check-response.ts";
import { createRandom, seedOf } from "./random.ts";
import { createTemplates, type KnownIds, type RouteTemplate } from "./request-bodies.ts";
import { createRequestInput, type RequestInput } from "./request-input.ts";
import { shrinkJson, shrinkList } from "./shrink.ts";

/** Number of requests that share an application and its store. */
export const EPOCH = 250;

export interface RequestFailure {
  readonly problem: string;
  readonly epoch: number;
  /** The last one fails; those before it create the state that it needs. */
  readonly requests: readonly RequestInput[];
}

export interface RequestFuzzer {
  /** Sends the request with this number. Numbers must be consecutive. */
  run(index: number): Promise<RequestFailure | undefined>;
  /** Answers by status. */
  readonly statuses: ReadonlyMap<number, number>;
  readonly slowest: { readonly ms: number; readonly index: number };
}

/** Longest time for one request; requests here are at most some ten kilobytes. */
const PATIENCE_MS = 60_000;

export function createRequestFuzzer(seed: number): RequestFuzzer {
  const statuses = new Map<number, number>();
  let slowest = { ms: 0, index: 0 };
  let target: Target | undefined;
  let sent: RequestInput[] = [];
  return {
    statuses,
    get slowest() {
      return slowest;
    },
    async run(index) {
      const epoch = Math.floor(index / EPOCH);
      if (target === undefined || index % EPOCH === 0) {
        target = await createTarget(epoch);
        sent = [];
      }
      const input = inputOf(seed, index, target);
      sent.push(input);
      const started = performance.now();
      let problem = await target.send(input, (status) => {
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      });
      const ms = performance.now() - started;
      if (ms > slowest.ms) slowest = { ms, index };
      if (problem === undefined && index % EPOCH === EPOCH - 1) problem = await target.settle();
      return problem === undefined ? undefined : { problem, epoch, requests: sent };
    },
  };
}

/** The request with this number, without sending it. */
export async function requestOf(seed: number, index: number): Promise<RequestInput> {
  return inputOf(seed, index, await createTarget(Math.floor(index / EPOCH)));
}

/** Removes as many of the requests before the failing one as possible. */
export async function shrinkRequestFailure(failure: RequestFailure): Promise<RequestFailure> {
  let tries = 400;
  const fails = async (requests: readonly RequestInput[]) => {
    if (requests.length === 0 || tries-- <= 0) return false;
    const target = await createTarget(failure.epoch);
    for (const request of requests.slice(0, -1)) await target.send(request);
    const last = requests.at(-1);
    return last !== undefined && (await target.send(last)) !== undefined;
  };
  const last = failure.requests.at(-1);
  if (last === undefined) return failure;
  if (await fails([last])) {
    return { ...failure, requests: [await shrinkBody(last, (smaller) => fails([smaller]))] };
  }
  const before = failure.requests.slice(0, -1);
  const needed = await shrinkList(before, (shorter) => fails([...shorter, last]));
  return { ...failure, requests: [...needed, last] };
}

async function shrinkBody(
  input: RequestInput,
  fails: (smaller: RequestInput) => Promise<boolean>,
): Promise<RequestInput> {
  if (typeof input.body !== "string") return input;
  let parsed: unknown;
  try {
    parsed = JSON.parse(input.body);
  } catch {
    return input;
  }
  const withBody = (value: unknown) => ({ ...input, body: JSON.stringify(value) ?? "" });
  if (!(await fails(withBody(parsed)))) return input;
  return withBody(await shrinkJson(parsed, (smaller) => fails(withBody(smaller))));
}

function inputOf(seed: number, index: number, { templates, keys }: Target): RequestInput {
  return createRequestInput(templates, keys, createRandom(seedOf(seed, index)));
}

interface Target {
  readonly templates: readonly RouteTemplate[];
  readonly keys: readonly string[];
  /** Returns the problem of the response, if any. */
  send(input: RequestInput, onStatus?: (status: number) => void): Promise<string | undefined>;
  /** Waits for requests in flight. Returns those that never ended. */
  settle(): Promise<string | undefined>;
}

/** The keys `sk-fuzz-a` and `sk-fuzz-b`, by their SHA-256. */
const KEYS = [
  "a:66b80be9197d7cedb7c90b1494f3f7ae5724a58ca5eb73bbdef104b33f4d9213",
  "b:8cdabe721cbe4930feff5bee79ce80e7f24460ee098c7000da17cc38b0274baf",
];

/** The settings an epoch runs with. */
const CONFIGURATIONS: readonly Readonly<Record<string, unknown>>[] = [
  { keys: KEYS, reasoningPolicy: "sealed", sealingKeys: ["A".repeat(43)] },
  {},
  { keys: KEYS, unsupportedTools: "refuse", mediaInput: "placeholder", maxBodyBytes: 20_000 },
  { open: true, reasoningPolicy: "none", reasoningContentMirror: true },
];

async function createTarget(epoch: number): Promise<Target> {
  const configuration = CONFIGURATIONS[epoch % CONFIGURATIONS.length] ?? {};
  const settings = resolveSettings(
    Object.entries({ maxConcurrent: 4, storeTtlSeconds: 600, ...configuration }).map(
      ([name, value]) => ({ name: settingName.parse(name), value, source: name }),
    ),
    { public: false },
  );
  const mistakes: string[] = [];
  let ids = 0;
  const randomId = () => `id${(++ids).toString().padStart(10, "0")}`;
  const app = createApp({
    settings,
    models: createModels(toModelOptions(settings, { transport: createFetchTransport() }), {
      steering: settings,
      newCallId: () => `call_${randomId()}`,
      pause: createPause(setImmediate),
    }),
    log: createLog({ level: "error", now: Date.now, write: (line) => mistakes.push(line) }),
    now: Date.now,
    randomId,
  });
  const send: Target["send"] = (input, onStatus) =>
    within(PATIENCE_MS, async () => {
      mistakes.length = 0;
      const response = await answerOf(app, input);
      if (response === undefined) return undefined;
      onStatus?.(response.status);
      const problem = await findProblem(response, input);
      if (problem === undefined && mistakes.length === 0) return undefined;
      return [problem, ...mistakes].join("\n  ").trim();
    });
  return {
    templates: createTemplates(await prepare(app)),
    keys: ["sk-fuzz-a", "sk-fuzz-a", "sk-fuzz-a", "sk-fuzz-b"],
    send,
    settle: () => settle(app),
  };
}

const settingName = z.lazy(() => settingsSchema.unwrap().keyof());

/** Undefined if the platform refuses to create such a request. */
async function answerOf(app: App, input: RequestInput): Promise<Response | undefined> {
  const { method, path, headers, body, leavesAfter } = input;
  const leaving = new AbortController();
  let request: Request;
  try {
    const init = { method, headers, ...(body !== undefined && { body }), signal: leaving.signal };
    request = new Request(`http://localhost${path}`, init);
  } catch {
    return undefined;
  }
  if (leavesAfter !== 0) return app.fetch(request);
  setTimeout(() => leaving.abort(), 0);
  try {
    return await app.fetch(request);
  } catch (error) {
    if (leaving.signal.aborted) return undefined;
    throw error;
  }
}

type App = ReturnType<typeof createApp>;

const created = z.object({ id: z.string() });
const listed = z.object({ data: z.array(created) });

/** State that later requests refer to. The ids are the same in each epoch of a configuration. */
async function prepare(app: App): Promise<KnownIds> {
  const ask = async (path: string, body?: object) => {
    const response = await app.request(path, {
      method: body === undefined ? "GET" : "POST",
      headers: { authorization: "Bearer sk-fuzz-a", "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return response.json();
  };
  const model = "openai/gpt-oss-20b";
  const response = created.parse(await ask("/v1/responses", { model, input: "Hello" }));
  const conversation = created.parse(
    await ask("/v1/conversations", { items: [{ type: "message", role: "user", content: "hi" }] }),
  );
  const items = listed.parse(await ask(`/v1/conversations/${conversation.id}/items`));
  const background = created.parse(
    await ask("/v1/responses", { model, input: "Hello", background: true }),
  );
  return {
    response: response.id,
    background: background.id,
    conversation: conversation.id,
    item: items.data[0]?.id ?? "",
  };
}

/** Slots and queues must return to zero; background work may take a moment. */
async function settle(app: App): Promise<string | undefined> {
  for (let tries = 0; tries < 100; tries++) {
    const state = JSON.stringify(await (await app.request("/ready")).json());
    if (/"queued":0\b/.test(state) && /"in_flight":0\b/.test(state)) return undefined;
    await pause(100);
  }
  return `still in flight: ${await (await app.request("/ready")).text()}`;
}

/** Returns the result of `work`, or its problem: an exception, or a timeout. */
async function within(
  ms: number,
  work: () => Promise<string | undefined>,
): Promise<string | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve(`no end within ${ms} ms`), ms);
  });
  try {
    return await Promise.race([work(), late]);
  } catch (error) {
    return error instanceof Error ? (error.stack ?? error.message) : String(error);
  } finally {
    clearTimeout(timer);
  }
}
