/** Redis killed, frozen and full: answers need no store; what promised to keep says that it cannot. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { createServer } from "node:net";
import { type Outcome } from "./clients.ts";
import { pause } from "./engine.ts";
import { expectQuiet, notWhole, onStage, type Phase, type Stage, tell } from "./phase.ts";

const HAS_REDIS = spawnSync("redis-server", ["--version"]).status === 0;

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
        for (const [name, fail, heal] of redis.failures) {
          await fail();
          await expectRefused(stage, name);
          await heal();
          await pause(2_500);
          await expectKept(stage, `after ${name}`);
        }
        await expectQuiet(stage);
        return redis.failures.map(([name]) => name).join(", ");
      });
    } finally {
      await redis.close();
    }
  },
};

/** Without a store, too, answers are whole; a response in the background is refused or made to its end. */
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
  return end === "whole" || (end === "refused" && status === 503);
}

async function expectKept(stage: Stage, when: string): Promise<void> {
  const kept = await Promise.all(
    (["background", "responses-stream", "chat"] as const).map((kind) => stage.ask(kind, "c")),
  );
  stage.expect(notWhole(kept).length === 0, `${when}: ${tell(notWhole(kept))}`);
}

type Failure = readonly [name: string, fail: () => Promise<void>, heal: () => Promise<void>];

interface ChaosRedis {
  readonly url: string;
  readonly failures: readonly Failure[];
  close(): Promise<void>;
}

async function startRedis(): Promise<ChaosRedis> {
  const port = await freePort();
  let child: ChildProcess | undefined;
  const start = async () => {
    const args = [
      "--port",
      String(port),
      "--bind",
      "127.0.0.1",
      "--save",
      "",
      "--appendonly",
      "no",
    ];
    child = spawn("redis-server", args, { stdio: "ignore" });
    await command("PING");
  };
  const kill = async () => {
    const ended = new Promise((resolve) => {
      if (child === undefined || child.exitCode !== null) resolve(undefined);
      child?.once("exit", resolve);
    });
    // A frozen process is not ended by anything gentler.
    child?.kill("SIGKILL");
    await ended;
  };
  const command = async (...words: string[]) => {
    for (let tries = 0; tries < 50; tries++) {
      const asked = spawnSync("redis-cli", ["-p", String(port), ...words], { timeout: 2_000 });
      if (asked.status === 0 && !String(asked.stdout).startsWith("Could not")) return;
      await pause(100);
    }
    throw new Error(`redis does not answer ${words.join(" ")}`);
  };
  await start();
  return {
    url: `redis://127.0.0.1:${port}`,
    close: kill,
    failures: [
      ["killed", kill, start],
      ["frozen", async () => void child?.kill("SIGSTOP"), async () => void child?.kill("SIGCONT")],
      [
        "full",
        () => command("CONFIG", "SET", "maxmemory", "1"),
        () => command("CONFIG", "SET", "maxmemory", "0"),
      ],
    ],
  };
}

function freePort(): Promise<number> {
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      const port = typeof address === "object" && address !== null ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
}
