/**
 * Clocks that jump both ways, at two gateways with one store: what runs is never reported as failed, nothing waits for the length of
 * a jump, and nothing stored is lost.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { Random } from "../fuzz/random.ts";
import { startScriptedRedis } from "../../test/helpers/scripted-redis.ts";
import { type ChaosGateway, startChaosGateway } from "./gateway.ts";
import { expectQuiet, onStage, type Phase, type Stage } from "./phase.ts";
import { readResponse, storeResponse, type Stored } from "./stored.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const DAY = 24 * 60 * MINUTE;
const JUMPS = [40 * SECOND, -40 * SECOND, 2 * MINUTE, -2 * MINUTE, DAY, -DAY];

/** 20 ms a word: long enough for all jumps. */
const WORDS = 400;

export const clocksPhase: Phase = {
  name: "clocks",
  says: "the clocks of two gateways with one store jump both ways",
  run: (random) => runClocks(random, { jumps: JUMPS, words: WORDS }),
};

export interface ClocksOptions {
  /** Milliseconds. */
  readonly jumps: readonly number[];
  /** Number of words in the background responses. */
  readonly words: number;
}

export async function runClocks(random: Random, { jumps, words }: ClocksOptions) {
  const redis = await startScriptedRedis();
  let other: ChaosGateway | undefined;
  try {
    const settings = { store: redis.url, storeTimeoutMs: 1000 };
    return await onStage({ engines: 1, settings }, async (stage) => {
      other = await startChaosGateway({ ...settings, keys: stage.keys }, stage.next("a").key);
      const { origin } = other;
      const kept = await storeResponse(stage, "a");
      const running = await startLong(stage, words);
      for (const jump of jumps) {
        random.pick([stage.gateway, other]).jump(jump);
        for (const each of running) await expectAlive(stage, each, origin);
        const answer = await stage.ask(random.pick(["chat-stream", "socket"]), "b");
        stage.expect(answer.end === "complete", `after a jump by ${jump}: ${answer.detail}`);
      }
      for (const each of running) await expectEnd(stage, each, origin);
      const read = kept === undefined ? undefined : await readResponse(stage, kept, origin);
      stage.expect(read?.status === 200, "a stored response is lost after the jumps");
      await expectNoLongRest(stage, redis);
      await expectQuiet(stage);
      return `${jumps.length} jumps, ${running.length} responses in the background`;
    });
  } finally {
    await other?.kill();
    await redis.close();
  }
}

async function startLong(stage: Stage, words: number): Promise<readonly Stored[]> {
  const body = { background: true };
  const started = await Promise.all(
    (["a", "b", "c"] as const).map((tenant) =>
      storeResponse(stage, tenant, {
        ...body,
        input: `words ${words} number ${stage.next(tenant).number} .`,
      }),
    ),
  );
  const running = started.filter((each) => each !== undefined);
  stage.expect(running.length === 3, "a response in the background was refused");
  return running;
}

async function expectAlive(stage: Stage, stored: Stored, origin: string): Promise<void> {
  for (const at of [undefined, origin]) {
    const { status, state } = await readResponse(stage, stored, at);
    const isAlive = status === 200 && state !== "failed";
    stage.expect(
      isAlive,
      `${status} ${state} through ${at === undefined ? "its own" : "the other"}`,
    );
  }
}

const PATIENCE_MS = 60_000;

async function expectEnd(stage: Stage, stored: Stored, origin: string): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  let state = "";
  while (state !== "completed" && state !== "failed" && performance.now() < deadline) {
    ({ state } = await readResponse(stage, stored, origin));
    await pause(200);
  }
  stage.expect(state === "completed", `a response in the background ended as ${state}`);
}

/** The store fails, the clock is set back, and the store is used again a second after it works, not an hour. */
async function expectNoLongRest(
  stage: Stage,
  redis: Awaited<ReturnType<typeof startScriptedRedis>>,
): Promise<void> {
  const right = redis.answer;
  redis.answer = () => "HTTP/1.1 400 Bad Request\r\n\r\n";
  for (let times = 0; times < 4; times++) await storeResponse(stage, "a");
  stage.gateway.jump(-60 * MINUTE);
  redis.answer = right;
  const deadline = performance.now() + 10 * SECOND;
  let stored: Stored | undefined;
  while (stored === undefined && performance.now() < deadline) {
    await pause(200);
    stored = await storeResponse(stage, "a");
  }
  stage.expect(stored !== undefined, "the store is not used again after the clock was set back");
}
