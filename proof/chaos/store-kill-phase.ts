/**
 * `kill -9` of one of two gateways over one file or database, or of both, in the middle of their load: acknowledged
 * entries can be read through each of them afterwards, only by their tenant; no entry is incomplete, and the surviving
 * gateway continues.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as pause } from "node:timers/promises";
import type { Random } from "../fuzz/random.ts";
import {
  askUntilOver,
  checkCreated,
  type Created,
  type CreatedKind,
  expectEnd,
  KINDS,
} from "./acknowledged.ts";
import { MODEL } from "./asking.ts";
import { type ChaosGateway, startChaosGateway } from "./gateway.ts";
import { onStage, type Phase, type Stage } from "./phase.ts";

const GATEWAYS = 2;
/** Half of them at each gateway. */
const CLIENTS = 8;
/** Maximum number of acknowledged entries at which the kill follows, after a moment. */
const MOST_CREATED = 24;
const LAST_MS = 100;
const DEAD_AFTER_MS = 30_000;

export const storeKillPhase: Phase = {
  name: "store-kill",
  says: "gateways over one file are killed under load, again and again; nothing acknowledged is lost",
  run: (random) => runStoreKill(random, { kills: 5 }),
};

export interface StoreKillOptions {
  readonly kills: number;
  /** The kinds of entries that clients create. Background responses take half a minute longer. */
  readonly kinds?: readonly CreatedKind[];
  /** `postgres://…`, whose tables have no entries of others. Absent: a separate file. */
  readonly store?: string | undefined;
}

export async function runStoreKill(
  random: Random,
  { kills, kinds = KINDS, store: given }: StoreKillOptions,
) {
  const folder = mkdtempSync(join(tmpdir(), "store-kill-"));
  const file = join(folder, "state.db");
  const store = given ?? `sqlite:${file}`;
  try {
    return await onStage({ engines: 1 }, async (stage) => {
      const all: Created[] = [];
      let gateways: readonly ChaosGateway[] = [];
      try {
        gateways = await fill([], stage, store);
        let together = 0;
        for (let kill = 0; kill < kills; kill++) {
          // A survivor shares the killed one's log; after both were killed, the next one finds it.
          const victims = random.oneIn(3) ? gateways : [random.pick(gateways)];
          if (victims.length === GATEWAYS) together++;
          const created = await killUnderLoad(stage, { gateways, victims, random, kinds });
          gateways = await fill(
            gateways.filter((each) => !victims.includes(each)),
            stage,
            store,
          );
          for (const { origin } of gateways) {
            await inTurn(created, (each) => checkCreated(stage, origin, each));
          }
          all.push(...created.filter(({ isAcknowledged }) => isAcknowledged));
        }
        const ends = await readAll(stage, random.pick(gateways), all);
        stage.expect(all.length >= kills, `only ${all.length} were acknowledged`);
        return `${kills} kills, ${together} of both, ${all.length} acknowledged and read: ${ends}`;
      } finally {
        await Promise.all(gateways.map((gateway) => gateway.kill()));
        if (given === undefined) checkFile(stage, file);
      }
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

interface Load {
  readonly gateways: readonly ChaosGateway[];
  readonly victims: readonly ChaosGateway[];
  readonly random: Random;
  readonly kinds: readonly CreatedKind[];
}

/** Clients of a gateway that survives send one more request after the kill, which must be answered too. */
async function killUnderLoad(
  stage: Stage,
  { gateways, victims, random, kinds }: Load,
): Promise<Created[]> {
  const created: Created[] = [];
  const wanted = random.between(1, MOST_CREATED);
  const isEnough = Promise.withResolvers<void>();
  const over = new AbortController();
  const clients = Array.from({ length: CLIENTS }, (_, n) =>
    askUntilOver(
      stage,
      gateways[n % GATEWAYS]?.origin ?? "",
      { random, kinds, over: over.signal },
      (each) => {
        if (created.push(each) >= wanted) isEnough.resolve();
      },
    ),
  );
  await Promise.race([isEnough.promise, Promise.all(clients)]);
  await pause(random.below(LAST_MS));
  await Promise.all(victims.map((victim) => victim.kill()));
  over.abort();
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

/** Starts as many as are missing. */
async function fill(
  running: readonly ChaosGateway[],
  stage: Stage,
  store: string,
): Promise<readonly ChaosGateway[]> {
  const gateways = [...running];
  while (gateways.length < GATEWAYS) gateways.push(await startOver(store, stage));
  return gateways;
}

function startOver(store: string, stage: Stage): Promise<ChaosGateway> {
  return startChaosGateway(
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
}

function checkFile(stage: Stage, file: string): void {
  const database = new DatabaseSync(file);
  const found = database.prepare("PRAGMA integrity_check").all();
  database.close();
  const says = JSON.stringify(found);
  stage.expect(says === '[{"integrity_check":"ok"}]', `the file is damaged: ${says}`);
}
