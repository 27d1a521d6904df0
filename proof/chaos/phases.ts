/** The phases of a run: the fault in each, and what must hold despite it. */
import { setTimeout as pause } from "node:timers/promises";
import { type Random } from "../fuzz/random.ts";
import { type JsonValue, mutateBytes, mutateJson, toText } from "../fuzz/json-mutation.ts";
import { type Outcome, sendHalf, stall, talk } from "./clients.ts";
import type { ChaosEngine, Fault } from "./engine.ts";
import {
  anyKind,
  expectHealed,
  expectQuiet,
  notWhole,
  onStage,
  type Phase,
  type Stage,
  tell,
  TOKEN_MS,
} from "./phase.ts";
import { clocksPhase } from "./clocks-phase.ts";
import { framesPhase } from "./frames-phase.ts";
import { redisLiesPhase } from "./redis-lies-phase.ts";
import { programsPhase } from "./programs-phase.ts";
import { redisPhase } from "./redis-phase.ts";
import { leavingPhase } from "./leaving-phase.ts";
import { storeKillPhase } from "./store-kill-phase.ts";
import { uploadsPhase } from "./uploads-phase.ts";

export const PHASES: readonly Phase[] = [
  {
    name: "calm",
    says: "every kind of client, no fault: all are served",
    run: (random) =>
      onStage({ engines: 2, settings: UNHURRIED }, async (stage) => {
        const outcomes = await crowd(stage, random, 60);
        stage.expect(notWhole(outcomes).length === 0, tell(notWhole(outcomes)));
        await expectQuiet(stage, 60_000);
        return undefined;
      }),
  },
  {
    name: "kills",
    says: "200 streams over three engines, one killed every five seconds",
    run: (random) => onStage({ engines: 3 }, (stage) => killEveryFiveSeconds(stage, random)),
  },
  {
    name: "frozen",
    says: "one of three engines stops as SIGSTOP stops it: what it has not begun goes elsewhere",
    run: (random) =>
      onStage({ engines: 3, settings: { firstTokenTimeoutMs: 60_000 } }, async (stage) => {
        const [ill] = stage.engines;
        const asked = crowd(stage, random, 90, ["chat-stream", "responses-stream"]);
        await pause(300);
        setFault(ill, "frozen");
        expectBegunOnly(stage, await asked, ill === undefined ? [] : [ill]);
        setFault(ill, "none");
        await expectHealed(stage);
        await expectQuiet(stage);
        return undefined;
      }),
  },
  {
    name: "lies",
    says: "one of two engines lies in every way; the other's answers are complete",
    run: (random) => onStage({ engines: 2 }, (stage) => lies(stage, random)),
  },
  {
    name: "poison",
    says: "requests of one tenant that every engine answers with an error shut out no other",
    run: () => onStage({ engines: 2 }, (stage) => poison(stage)),
  },
  {
    name: "poison-1",
    says: "the same with a single engine",
    run: () => onStage({ engines: 1 }, (stage) => poison(stage)),
  },
  {
    name: "flood",
    says: "one tenant fills the queue; another is served in between",
    run: (random) => onStage({ engines: 1, maxConcurrent: 8 }, (stage) => flood(stage, random)),
  },
  {
    name: "rude",
    says: "clients that leave, read nothing or send half a request give everything back",
    run: (random) =>
      onStage({ engines: 2, settings: { clientIdleTimeoutMs: 2_000 } }, (stage) =>
        rude(stage, random),
      ),
  },
  {
    name: "sockets",
    says: "damaged messages over WebSockets; each is answered, and others are served",
    run: (random) => onStage({ engines: 2 }, (stage) => damageMessages(stage, random)),
  },
  {
    name: "outage",
    says: "all engines die: refused in words and at once; served again when they are back",
    run: (random) => onStage({ engines: 2 }, (stage) => outage(stage, random)),
  },
  framesPhase,
  uploadsPhase,
  leavingPhase,
  programsPhase,
  redisPhase,
  redisLiesPhase,
  clocksPhase,
  storeKillPhase,
];

type Kind = Parameters<Stage["ask"]>[0];

/** Limit for engines that do not hang, long enough for a slow machine. */
export const UNHURRIED = {
  connectTimeoutMs: 60_000,
  firstTokenTimeoutMs: 60_000,
  idleTimeoutMs: 60_000,
};

/** Many clients of all tenants, a few milliseconds apart. */
async function crowd(
  stage: Stage,
  random: Random,
  size: number,
  kinds?: readonly Kind[],
): Promise<Outcome[]> {
  const asked: Promise<Outcome>[] = [];
  for (let n = 0; n < size; n++) {
    const kind = kinds === undefined ? anyKind(random) : random.pick(kinds);
    asked.push(stage.ask(kind, random.pick(["a", "b", "c"] as const)));
    await pause(random.below(15));
  }
  return Promise.all(asked);
}

function setFault(engine: ChaosEngine | undefined, fault: Fault): void {
  if (engine !== undefined) engine.fault = fault;
}

/** At most the streams that the failed engine had begun are lost. */
function expectBegunOnly(
  stage: Stage,
  outcomes: readonly Outcome[],
  ill: readonly ChaosEngine[],
  fault = "",
): void {
  const needless = notWhole(outcomes).filter(
    ({ number }) => !ill.some(({ begun }) => begun.has(number)),
  );
  stage.expect(
    needless.length === 0,
    `${fault} ${needless.length} lost needlessly: ${tell(needless)}`.trim(),
  );
}

const STREAMS = 200;
const KILL_EVERY_MS = 5_000;
const KILLS = 5;
/** Time for which a killed engine stays down. */
const DEAD_MS = 1_500;

async function killEveryFiveSeconds(stage: Stage, random: Random): Promise<string> {
  const until = performance.now() + KILLS * KILL_EVERY_MS;
  const asked: Promise<Outcome>[] = [];
  // 200 streams are open at any time: each that ends is replaced.
  const client = async () => {
    while (performance.now() < until) {
      const outcome = stage.ask(
        "chat-stream",
        random.pick(["a", "b", "c"] as const),
        "words 60 ",
        60,
      );
      asked.push(outcome);
      await outcome;
    }
  };
  const clients = Array.from({ length: STREAMS }, async (_, n) => {
    await pause(n * 10);
    await client();
  });
  for (let kills = 0; kills < KILLS; kills++) {
    await pause(KILL_EVERY_MS - DEAD_MS);
    const victim = stage.engines[kills % stage.engines.length];
    await victim?.kill();
    await pause(DEAD_MS);
    await victim?.revive();
  }
  await Promise.all(clients);
  const outcomes = await Promise.all(asked);
  expectBegunOnly(stage, outcomes, stage.engines);
  await expectHealed(stage);
  await expectQuiet(stage);
  const cut = notWhole(outcomes).length;
  return `${outcomes.length} streams, ${KILLS} kills, ${cut} cut after their first token`;
}

const LIES: readonly Fault[] = [
  "bad-frame",
  "bad-id",
  "error-frame",
  "cut",
  "short",
  "status-500",
  "status-503",
  "status-429",
  "status-404",
  "status-401",
  "late",
  "slow",
  "mute",
];

/** Requests per lie. */
const LIED_TO = 16;

async function lies(stage: Stage, random: Random): Promise<string> {
  const [liar] = stage.engines;
  for (const fault of LIES) {
    setFault(liar, fault);
    const outcomes = await crowd(stage, random, LIED_TO, ["chat-stream", "responses-stream"]);
    expectBegunOnly(stage, outcomes, liar === undefined ? [] : [liar], fault);
  }
  setFault(liar, "none");
  // These are valid except in form, and each must be served.
  for (const fault of ["no-done", "bad-usage"] as const) {
    const outcome = await stage.ask("chat-stream", "a", `fault ${fault} `);
    stage.expect(outcome.end === "complete", `${fault}: ${outcome.end} ${outcome.detail}`);
    stage.expect(outcome.ms < 3_000, `${fault}: took ${Math.round(outcome.ms)} ms`);
  }
  await expectHealed(stage);
  await expectQuiet(stage);
  return `${LIES.length} lies`;
}

const POISONS: readonly Fault[] = [
  "status-500",
  "status-404",
  "status-401",
  "bad-frame",
  "error-frame",
];

/** Maximum wait of the other tenant for an answer of {@link WORDS} words. */
const SERVED_MS = 6_000;

async function poison(stage: Stage): Promise<string> {
  for (const fault of POISONS) {
    for (let times = 0; times < 4; times++) await stage.ask("chat", "a", `fault ${fault} `);
    const others = await Promise.all(
      Array.from({ length: 12 }, (_, n) => stage.ask(n % 2 === 0 ? "chat" : "chat-stream", "b")),
    );
    const shutOut = notWhole(others);
    stage.expect(
      shutOut.length === 0,
      `after ${fault}, b: ${shutOut.length} of 12 not served: ${tell(shutOut)}`,
    );
  }
  await expectQuiet(stage);
  return `${POISONS.length * 4} poisoned, ${POISONS.length * 12} others`;
}

async function flood(stage: Stage, random: Random): Promise<string> {
  const flooding = Array.from({ length: 60 }, () => {
    return stage.ask(random.oneIn(4) ? "chat-n" : "chat", "a", "words 40 ", 40);
  });
  await pause(500);
  const others = await Promise.all(
    Array.from({ length: 6 }, async (_, n) => {
      await pause(n * 400);
      return stage.ask("chat-stream", "b");
    }),
  );
  stage.expect(notWhole(others).length === 0, `b is not served: ${tell(notWhole(others))}`);
  const slowest = Math.max(...others.map(({ ms }) => ms));
  stage.expect(slowest < SERVED_MS, `b waited ${Math.round(slowest)} ms`);
  await Promise.all(flooding);
  await expectQuiet(stage);
  return `b's slowest: ${Math.round(slowest)} ms`;
}

async function rude(stage: Stage, random: Random): Promise<string> {
  const halves = Array.from({ length: 30 }, (_, n) =>
    sendHalf(stage.gateway.origin, n % 2 === 0 ? "head" : "body"),
  );
  // More than all buffers on the path hold.
  const stalled = await Promise.all(
    Array.from({ length: 8 }, () => stall(stage.next("a", "bulk words 60000 "))),
  );
  await crowd(stage, random, 120, ["leaver"]);
  const others = await crowd(stage, random, 30, ["chat", "chat-stream", "socket"]);
  stage.expect(notWhole(others).length === 0, tell(notWhole(others)));
  // Clients that read nothing are still connected, but have lost their slots.
  await expectQuiet(stage, 20_000);
  for (const socket of [...halves, ...stalled]) socket.destroy();
  return "30 half requests, 8 that read nothing, 120 leavers";
}

const CREATE: JsonValue = {
  type: "response.create",
  model: "openai/gpt-oss-20b",
  input: [{ type: "message", role: "user", content: "words 1 number 0 ." }],
  store: false,
  reasoning: { effort: "low" },
};

const SOCKETS = 6;
const MESSAGES = 40;

async function damageMessages(stage: Stage, random: Random): Promise<string> {
  const messages = () =>
    Array.from({ length: MESSAGES }, () => {
      const text = toText(mutateJson(CREATE, random));
      return random.oneIn(5) ? mutateBytes(text, random) : text;
    });
  const talks = Array.from({ length: SOCKETS }, () => talk(stage.next("a"), messages()));
  const others = await crowd(stage, random, 20, ["chat-stream", "socket"]);
  stage.expect(notWhole(others).length === 0, tell(notWhole(others)));
  const problems = (await Promise.all(talks)).filter((problem) => problem !== undefined);
  stage.expect(problems.length === 0, problems.slice(0, 3).join("; "));
  await expectQuiet(stage);
  return `${SOCKETS * MESSAGES} messages`;
}

async function outage(stage: Stage, random: Random): Promise<string> {
  const before = crowd(stage, random, 30, ["chat-stream", "responses-stream", "chat"]);
  await pause(10 * TOKEN_MS);
  await Promise.all(stage.engines.map((engine) => engine.kill()));
  await before;
  const refused = await crowd(stage, random, 20, ["chat", "responses-stream"]);
  const slowest = Math.max(...refused.map(({ ms }) => ms));
  stage.expect(slowest < 5_000, `a refusal took ${Math.round(slowest)} ms`);
  stage.expect(
    refused.every(({ end }) => end === "refused"),
    `not refused: ${tell(refused.filter(({ end }) => end !== "refused"))}`,
  );
  await Promise.all(stage.engines.map((engine) => engine.revive()));
  await expectHealed(stage);
  const after = await crowd(stage, random, 20);
  stage.expect(notWhole(after).length === 0, `after healing: ${tell(notWhole(after))}`);
  await expectQuiet(stage);
  return `slowest refusal ${Math.round(slowest)} ms`;
}
