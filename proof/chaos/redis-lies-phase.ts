/**
 * A Redis that shifts its replies, hangs, refuses one kind of command or lies: no client reads another's response, the
 * gateway lives, and everything is served again when Redis is right again.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { Random } from "../fuzz/random.ts";
import {
  NIL,
  type ScriptedRedis,
  startScriptedRedis,
  toBulk,
} from "../../test/helpers/scripted-redis.ts";
import { expectQuiet, notWhole, onStage, type Phase, type Stage, tell } from "./phase.ts";
import { readResponse, storeResponse, type Stored } from "./stored.ts";

type Answer = ScriptedRedis["answer"];

interface Fault {
  readonly name: string;
  readonly answer: (random: Random) => Answer;
  /** Reads are not affected. */
  readonly canRead?: true;
}

const is = (command: readonly string[], name: string) => command[0] === name;

/** Now and then, these bytes and the right answer. */
const surplus =
  (bytes: string) =>
  (random: Random): Answer =>
  (_, carryOut) =>
    random.oneIn(10) ? bytes + carryOut() : carryOut();

/** Now and then, these bytes instead of the right answer. */
const instead =
  (bytes: string) =>
  (random: Random): Answer =>
  (_, carryOut) =>
    random.oneIn(5) ? bytes : carryOut();

const refused = (name: string, error: string) => (): Answer => (command, carryOut) =>
  is(command, name) ? `-${error}\r\n` : carryOut();

export const FAULTS: readonly Fault[] = [
  { name: "surplus nil", answer: surplus(NIL) },
  { name: "surplus value", answer: surplus(toBulk('{"id":"another"}')) },
  { name: "surplus OK", answer: surplus("+OK\r\n") },
  { name: "surplus error", answer: surplus("-ERR why\r\n") },
  { name: "silent", answer: () => () => undefined },
  {
    name: "silent on one connection",
    answer: () => {
      let silent: number | undefined;
      return (_, carryOut, connection) =>
        connection === (silent ??= connection) ? undefined : carryOut();
    },
  },
  { name: "writes refused: READONLY", canRead: true, answer: refused("SET", "READONLY replica") },
  { name: "writes refused: OOM", canRead: true, answer: refused("SET", "OOM not allowed") },
  { name: "reads refused", answer: refused("GET", "LOADING the dataset in memory") },
  { name: "nothing is stored", answer: instead(":1\r\n") },
  { name: "nested arrays", answer: instead("*1\r\n".repeat(100_000)) },
  { name: "an endless value", answer: instead(`$4000000000\r\n${"x".repeat(1_000_000)}`) },
  { name: "an endless line", answer: instead("+".padEnd(1_000_000, "x")) },
  { name: "HTTP", answer: instead("HTTP/1.1 400 Bad Request\r\n\r\n") },
];

const RESPONSES = 12;
const READS = 60;

export const redisLiesPhase: Phase = {
  name: "redis-lies",
  says: "a store that shifts its replies, hangs, refuses one kind of command or lies",
  run: (random) => runRedisLies(random, FAULTS),
};

/** @param faults some of {@link FAULTS}. */
export async function runRedisLies(random: Random, faults: readonly Fault[]) {
  const redis = await startScriptedRedis();
  try {
    const settings = { store: redis.url, storeTimeoutMs: 500 };
    return await onStage({ engines: 1, settings }, async (stage) => {
      const stored = await storeSome(stage);
      const right = redis.answer;
      for (const fault of faults) {
        redis.answer = fault.answer(random);
        await readDuring(stage, stored, fault);
        const answer = await stage.ask(random.pick(["chat", "chat-stream", "responses"]), "a");
        stage.expect(answer.end === "complete", `${fault.name}: not served: ${tell([answer])}`);
        // Refused, or kept: nothing else.
        await storeResponse(stage, random.pick(["a", "b", "c"]));
        redis.answer = right;
        // Also on an idle connection.
        if (random.oneIn(2)) redis.send(random.pick([NIL, "+OK\r\n", "\r\n", "*1\r\n"]));
        await expectRead(stage, stored, fault);
      }
      const kept = await stage.ask("background", "c");
      stage.expect(kept.end === "complete", `at last: ${tell(notWhole([kept]))}`);
      await expectQuiet(stage);
      return `${faults.length} faults, ${redis.opened} connections`;
    });
  } finally {
    await redis.close();
  }
}

async function storeSome(stage: Stage): Promise<readonly Stored[]> {
  const stored = await Promise.all(
    Array.from({ length: RESPONSES }, (_, n) =>
      storeResponse(stage, (["a", "b", "c"] as const)[n % 3] ?? "a"),
    ),
  );
  return stored.filter((each) => each !== undefined);
}

async function readDuring(stage: Stage, stored: readonly Stored[], fault: Fault): Promise<void> {
  const reads = Array.from({ length: READS }, async (_, n) => {
    // In bunches: several replies arrive together.
    await pause((n % 5) * 20);
    const one = stored[n % stored.length];
    return one === undefined ? 0 : (await readResponse(stage, one)).status;
  });
  const statuses = await Promise.all(reads);
  const lost = statuses.filter((status) => status !== 200).length;
  if (fault.canRead) stage.expect(lost === 0, `${fault.name}: ${lost} of ${READS} reads failed`);
}

const HEAL_MS = 10_000;

async function expectRead(stage: Stage, stored: readonly Stored[], fault: Fault): Promise<void> {
  const deadline = performance.now() + HEAL_MS;
  let lost = stored;
  while (lost.length > 0 && performance.now() < deadline) {
    const reads = await Promise.all(lost.map((each) => readResponse(stage, each)));
    lost = lost.filter((_, at) => reads[at]?.status !== 200);
    if (lost.length > 0) await pause(200);
  }
  stage.expect(lost.length === 0, `after ${fault.name}: ${lost.length} responses cannot be read`);
}
