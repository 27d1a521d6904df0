/**
 * Redis killed, frozen and full: answers do not need the store; requests that depend on it report that it is
 * unavailable.
 */
import { setTimeout as pause } from "node:timers/promises";
import { HAS_REDIS, startRedis, type TestRedis } from "../../test/helpers/redis.ts";
import { type Outcome } from "./clients.ts";
import { expectQuiet, notWhole, onStage, type Phase, type Stage, tell } from "./phase.ts";

type Change = (redis: TestRedis) => void | Promise<void>;

const FAILURES: readonly (readonly [name: string, fail: Change, heal: Change])[] = [
  ["killed", (redis) => redis.kill(), (redis) => redis.start()],
  ["frozen", (redis) => redis.freeze(), (redis) => redis.thaw()],
  ["full", (redis) => redis.limitMemory(1), (redis) => redis.limitMemory(0)],
];

export const redisPhase: Phase = {
  name: "redis",
  says: "the store killed, frozen, full, and back again",
  ...(!HAS_REDIS && { missing: "redis-server is not installed" }),
  async run() {
    const redis = await startRedis();
    try {
      const settings = { store: redis.url, storeTimeoutMs: 1_000 };
      return await onStage({ engines: 2, settings }, async (stage) => {
        await expectKept(stage, "at first");
        for (const [name, fail, heal] of FAILURES) {
          await fail(redis);
          await expectRefused(stage, name);
          await heal(redis);
          await pause(2_500);
          await expectKept(stage, `after ${name}`);
        }
        await expectQuiet(stage);
        return FAILURES.map(([name]) => name).join(", ");
      });
    } finally {
      await redis.kill();
    }
  },
};

/** Answers are complete without a store, too; a background response is refused or completed. */
async function expectRefused(stage: Stage, name: string): Promise<void> {
  const kinds = ["chat", "chat-stream", "responses", "socket"] as const;
  const answers = await Promise.all(kinds.map((kind) => stage.ask(kind, "a")));
  const lost = notWhole(answers);
  stage.expect(lost.length === 0, `${name}: not served: ${tell(lost)}`);
  const background = await Promise.all([1, 2, 3].map(() => stage.ask("background", "b")));
  const wrong = background.filter((outcome) => !isHonest(outcome));
  stage.expect(wrong.length === 0, `${name}, background: ${tell(wrong)}`);
}

function isHonest({ end, status }: Outcome): boolean {
  return end === "complete" || (end === "refused" && status === 503);
}

async function expectKept(stage: Stage, when: string): Promise<void> {
  const kept = await Promise.all(
    (["background", "responses-stream", "chat"] as const).map((kind) => stage.ask(kind, "c")),
  );
  stage.expect(notWhole(kept).length === 0, `${when}: ${tell(notWhole(kept))}`);
}
