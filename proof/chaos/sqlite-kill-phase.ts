/**
 * `kill -9` of a gateway whose state is in a file, in the middle of its load: what it has acknowledged can be read after the
 * next start, and nothing is half there.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Random } from "../fuzz/random.ts";
import {
  askUntilKilled,
  checkCreated,
  type Created,
  type CreatedKind,
  expectEnd,
  KINDS,
} from "./acknowledged.ts";
import { MODEL } from "./asking.ts";
import { type ChaosGateway, startChaosGateway } from "./gateway.ts";
import { onStage, type Phase, type Stage } from "./phase.ts";

const CLIENTS = 8;
/** The kill comes when so many at most were acknowledged, and a moment later. */
const MOST_CREATED = 24;
const LAST_MS = 100;
const DEAD_AFTER_MS = 30_000;

export const sqliteKillPhase: Phase = {
  name: "sqlite-kill",
  says: "a gateway over a file is killed under load, again and again; nothing acknowledged is lost",
  run: (random) => runSqliteKill(random, { kills: 5 }),
};

export interface SqliteKillOptions {
  readonly kills: number;
  /** Of what is created. Background responses take half a minute longer. */
  readonly kinds?: readonly CreatedKind[];
}

export async function runSqliteKill(random: Random, { kills, kinds = KINDS }: SqliteKillOptions) {
  const folder = mkdtempSync(join(tmpdir(), "sqlite-kill-"));
  const store = `sqlite:${join(folder, "state.db")}`;
  try {
    return await onStage({ engines: 1 }, async (stage) => {
      const all: Created[] = [];
      let created: Created[] = [];
      let ends = "";
      for (let kill = 0; kill <= kills; kill++) {
        await withGateway(stage, store, async (gateway) => {
          // This process has found the log of the one before.
          await inTurn(created, (each) => checkCreated(stage, gateway.origin, each));
          all.push(...created.filter(({ isAcknowledged }) => isAcknowledged));
          if (kill < kills) created = await killUnderLoad(stage, gateway, random, kinds);
          else ends = await readAll(stage, gateway, all);
        });
      }
      stage.expect(all.length >= kills, `only ${all.length} were acknowledged`);
      return `${kills} kills, ${all.length} acknowledged and read: ${ends}`;
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function killUnderLoad(
  stage: Stage,
  gateway: ChaosGateway,
  random: Random,
  kinds: readonly CreatedKind[],
): Promise<Created[]> {
  const created: Created[] = [];
  const wanted = random.between(1, MOST_CREATED);
  const isEnough = Promise.withResolvers<void>();
  const clients = Array.from({ length: CLIENTS }, () =>
    askUntilKilled(stage, gateway.origin, { random, kinds }, (each) => {
      if (created.push(each) >= wanted) isEnough.resolve();
    }),
  );
  await Promise.race([isEnough.promise, Promise.all(clients)]);
  await pause(random.below(LAST_MS));
  await gateway.kill();
  await Promise.all(clients);
  return created;
}

/** Returns how many ended how. */
async function readAll(
  stage: Stage,
  { origin }: ChaosGateway,
  all: readonly Created[],
): Promise<string> {
  const inBackground = all.filter(({ kind }) => kind === "background");
  await inTurn(inBackground, (each) => checkCreated(stage, origin, each));
  // From its first look on, a gateway waits so long for a sign of life of what ran elsewhere.
  if (inBackground.length > 0) await pause(DEAD_AFTER_MS);
  const ends = new Map<string, number>();
  await inTurn(all, async (each) => {
    const look = each.kind === "background" ? expectEnd : checkCreated;
    const end = await look(stage, origin, each);
    ends.set(end, (ends.get(end) ?? 0) + 1);
  });
  return [...ends].map(([end, count]) => `${count} ${end}`).join(", ");
}

/** Some at a time: all of them would be slower, and time out. */
async function inTurn<T>(all: readonly T[], run: (each: T) => Promise<unknown>): Promise<void> {
  for (let at = 0; at < all.length; at += CLIENTS) {
    await Promise.all(all.slice(at, at + CLIENTS).map((each) => run(each)));
  }
}

async function withGateway(
  stage: Stage,
  store: string,
  run: (gateway: ChaosGateway) => Promise<void>,
): Promise<void> {
  const gateway = await startChaosGateway(
    {
      backends: stage.engines.map(({ url }) => ({ engine: "vllm", url, model: MODEL })),
      keys: stage.keys,
      store,
      // No entry has to go for another.
      storeMaxEntries: 1_000_000,
      storeMaxBytes: 1_000_000_000,
      // Slowness of the machine is no fault of the store.
      storeTimeoutMs: 30_000,
    },
    stage.next("a").key,
  );
  try {
    await run(gateway);
  } finally {
    await gateway.kill();
  }
}
