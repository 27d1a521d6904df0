/** A gateway over three servers under load, one of which starts to fail. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { type FaultyVllm, startFaultyVllm } from "../helpers/faulty-vllm.ts";
import { startTestGateway, type TestGateway } from "../helpers/gateway.ts";
import { chatChunk, parseEvents, readEvents } from "../helpers/replies.ts";

const STREAMS = 100;
const TOKEN_MS = 10;
const TEXT = Array.from({ length: 14 }, (_, n) => ` word${n}`).join("");
/** A timeout that no stream reaches, even while all of them begin on a busy machine. */
const PATIENT_MS = 120_000;
/** The timeout for the test with a hanging server. With these few streams, no other stream reaches it. */
const IMPATIENT_MS = 4_000;
const FEW_STREAMS = 30;

let servers: readonly FaultyVllm[];
let gateway: TestGateway;
let next = 0;

beforeAll(async () => {
  servers = await Promise.all(
    [1, 2, 3].map(() => startFaultyVllm({ text: TEXT, tokenMs: TOKEN_MS })),
  );
  gateway = await serveGateway(PATIENT_MS);
});

function serveGateway(timeoutMs: number): Promise<TestGateway> {
  return startTestGateway({
    settings: {
      backends: servers.map(({ url }) => ({ engine: "vllm", url })),
      firstTokenTimeoutMs: timeoutMs,
      idleTimeoutMs: timeoutMs,
      healthIntervalMs: 200,
      log: "warn",
    },
  });
}

afterAll(async () => {
  await gateway.close();
  await Promise.all(servers.map((server) => server.kill()));
});

afterEach(async () => {
  for (const server of servers) {
    server.illness = "none";
    server.begun.clear();
    server.onLeft = () => {};
  }
  await expectRest();
});

async function expectRest(): Promise<void> {
  await expect.poll(health).toEqual(["up", "up", "up"]);
  await expect.poll(leftBehind).toEqual(NOTHING);
}

/** Counts after all requests have been answered. */
const NOTHING = { inFlight: [0, 0, 0], open: [0, 0, 0], turns: 0 };

interface Outcome {
  readonly prompt: number;
  readonly status: number;
  readonly text: string;
  readonly finish: string | undefined;
  /** The type of the error in the stream. */
  readonly error: z.infer<typeof streamError> | undefined;
  readonly done: boolean;
}

const streamError = z.object({
  code: z.string(),
  type: z.string(),
  metadata: z.object({ error_type: z.string() }),
});

const chunk = chatChunk.partial().extend({ error: streamError.optional() });

async function ask(prompt: number, signal?: AbortSignal): Promise<Outcome> {
  const response = await fetch(`${gateway.baseURL}/chat/completions`, {
    method: "POST",
    body: JSON.stringify({
      stream: true,
      messages: [{ role: "user", content: `number ${prompt}` }],
    }),
    ...(signal && { signal }),
  });
  const text = await response.text();
  const chunks = parseEvents(text, chunk);
  const choices = chunks.flatMap((each) => each.choices ?? []);
  return {
    prompt,
    status: response.status,
    text: choices.map(({ delta }) => delta.content ?? "").join(""),
    finish: choices.findLast((each) => each.finish_reason !== null)?.finish_reason ?? undefined,
    error: chunks.find((each) => each.error !== undefined)?.error,
    done: readEvents(text).at(-1) === "[DONE]",
  };
}

/** When the first server fails, half of the streams have received tokens, and the others none. */
async function runThrough(
  fault: (server: FaultyVllm) => void,
  streams = STREAMS,
): Promise<readonly Outcome[]> {
  const [ill] = servers;
  if (ill === undefined) throw new Error("no server");
  const firstLate = next + streams / 2;
  const stop = stopStreams((prompt) => (prompt < firstLate ? 8 : 0));
  const asked = Array.from({ length: streams }, () => ask(next++));
  await stop.until(streams);
  fault(ill);
  stop.release();
  return Promise.all(asked);
}

interface StopStreams {
  /** Waits until this many streams have stopped. */
  until(count: number): Promise<void>;
  release(): void;
}

/** Stops each stream before the token with the index given for its prompt. */
function stopStreams(indexOf: (prompt: number) => number): StopStreams {
  const stopped = new Set<number>();
  const released = Promise.withResolvers<void>();
  for (const server of servers) {
    server.hold = (prompt, index) => {
      if (index !== indexOf(prompt)) return undefined;
      stopped.add(prompt);
      return released.promise;
    };
  }
  return {
    async until(count) {
      await expect.poll(() => stopped.size, { timeout: PATIENT_MS }).toBe(count);
    },
    release() {
      for (const server of servers) server.hold = () => undefined;
      released.resolve();
    },
  };
}

function isWhole(outcome: Outcome): boolean {
  const { status, text, finish, error, done } = outcome;
  return status === 200 && text === TEXT && finish === "stop" && error === undefined && done;
}

/** The outcome of the streams that were not completed. */
function lossesOf(outcomes: readonly Outcome[]) {
  const [ill] = servers;
  const failed = outcomes.filter((outcome) => !isWhole(outcome));
  const ends = failed.map(({ status, finish, error, done, text }) =>
    JSON.stringify({ status, finish, error, done, beginsWell: TEXT.startsWith(text) }),
  );
  return {
    some: failed.length > 0,
    /** Streams that the failing server had not begun, so that another server could have answered. */
    needless: failed.filter(({ prompt }) => ill?.begun.has(prompt) !== true),
    ends: [...new Set(ends)].map((end): unknown => JSON.parse(end)),
  };
}

/** Only streams that the failing server had begun are lost, each with this error. */
function begunOnly(error: z.infer<typeof streamError>) {
  const end = { status: 200, finish: "error", error, done: false, beginsWell: true };
  return { some: true, needless: [], ends: [end] };
}

const BROKEN = {
  code: "provider_unavailable",
  type: "server_error",
  metadata: { error_type: "provider_unavailable" },
};

const LATE = { code: "timeout", type: "server_error", metadata: { error_type: "timeout" } };

describe(`of ${STREAMS} streams`, () => {
  test("a killed server loses the streams it had begun, and is used again when it is back", async () => {
    const [ill] = servers;
    const outcomes = await runThrough((server) => void server.kill());
    expect(lossesOf(outcomes)).toEqual(begunOnly(BROKEN));
    await expect.poll(health).toEqual(["down", "up", "up"]);
    expect(gateway.logged.filter(({ event }) => event === "backend down")).toMatchObject([
      { model: "openai/gpt-oss-20b", backend: "vllm", reason: "it cannot be reached" },
    ]);

    await ill?.revive();
    await expect.poll(health).toEqual(["up", "up", "up"]);
    ill?.begun.clear();
    const after = await Promise.all(Array.from({ length: 30 }, () => ask(next++)));
    expect(after.filter((outcome) => !isWhole(outcome))).toEqual([]);
    expect(ill?.begun.size).toBeGreaterThan(0);
  });

  test("a slow server loses no stream", async () => {
    const outcomes = await runThrough((server) => {
      server.illness = "slow";
    });
    expect(outcomes.filter((outcome) => !isWhole(outcome))).toEqual([]);
  });

  test("a server that sends garbage loses the streams it had begun", async () => {
    const outcomes = await runThrough((server) => {
      server.illness = "corrupt";
    });
    expect(lossesOf(outcomes)).toEqual(begunOnly(BROKEN));
  });

  test("requests of disconnected clients are closed even while the server sends nothing", async () => {
    const left = new Set<number>();
    for (const server of servers) server.onLeft = (prompt) => left.add(prompt);
    const stop = stopStreams(() => 8);
    const abort = new AbortController();
    const leaving = Array.from({ length: 40 }, () => next++);
    const gone = leaving.map((prompt) => ask(prompt, abort.signal).catch(() => "gone"));
    const staying = Array.from({ length: STREAMS - 40 }, () => ask(next++));
    await stop.until(STREAMS);
    abort.abort();
    await expect.poll(() => [...left].toSorted((a, b) => a - b)).toEqual(leaving);
    expect(new Set(await Promise.all(gone))).toEqual(new Set(["gone"]));
    stop.release();
    expect((await Promise.all(staying)).filter((outcome) => !isWhole(outcome))).toEqual([]);
  });

  test("no memory or slot is kept, however they ended", async () => {
    const round = async () => {
      await runThrough((server) => {
        server.illness = "corrupt";
      });
      for (const server of servers) {
        server.illness = "none";
        server.begun.clear();
      }
      await expect.poll(leftBehind).toEqual(NOTHING);
    };
    await round();
    await round();
    const before = await heapBytes();
    await round();
    // Each of the streams takes some 100 KB while it is open. The clients' idle connections are closed after seconds.
    await expect.poll(async () => (await heapBytes()) - before).toBeLessThan(2_000_000);
  });
});

test(`of ${FEW_STREAMS} streams a hanging server loses those it had begun, after their timeout`, async () => {
  const patient = gateway;
  gateway = await serveGateway(IMPATIENT_MS);
  try {
    const outcomes = await runThrough((server) => {
      server.illness = "hang";
    }, FEW_STREAMS);
    expect(lossesOf(outcomes)).toEqual(begunOnly(LATE));
  } finally {
    await gateway.close();
    gateway = patient;
  }
});

const readiness = z.object({
  models: z.array(
    z.object({ backends: z.array(z.object({ health: z.string(), in_flight: z.number() })) }),
  ),
});

async function backends() {
  const response = await fetch(`${gateway.origin}/ready`);
  return readiness.parse(await response.json()).models[0]?.backends ?? [];
}

async function health(): Promise<string[]> {
  return (await backends()).map((each) => each.health);
}

async function leftBehind() {
  const metrics = await (await fetch(`${gateway.origin}/metrics`)).text();
  return {
    inFlight: (await backends()).map((each) => each.in_flight),
    open: servers.map(({ open }) => open),
    turns: Number(/^harmony_gateway_turns_in_flight (\d+)$/m.exec(metrics)?.[1]),
  };
}

setFlagsFromString("--expose-gc");
const collectGarbage = z.function().parse(runInNewContext("gc"));

async function heapBytes(): Promise<number> {
  for (let n = 0; n < 3; n += 1) {
    collectGarbage();
    await nextTurn();
  }
  return process.memoryUsage().heapUsed;
}
