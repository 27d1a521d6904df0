/**
 * What recording costs: CPU per token of whole turns through the application, with a recorder that listens and without one,
 * alternately. `node bench/inspector-core.ts [turns] [tokens]`
 */
import { createApp } from "../src/app.ts";
import { resolveSettings } from "../src/config/resolve.ts";
import type { Engine, EngineEvent } from "../src/engines/engine.ts";
import { createModels } from "../src/models/models.ts";
import { createLog } from "../src/telemetry/log.ts";
import { createRecorder, type Recorder } from "../src/telemetry/record/recorder.ts";
import { createPushStream } from "../src/streams/push-stream.ts";
import { o200kHarmony } from "../src/tokenizer/index.ts";

const TURNS = Number(process.argv[2] ?? 40);
const TOKENS = Number(process.argv[3] ?? 2000);
const ROUNDS = 7;

const BODY = JSON.stringify({
  model: "openai/gpt-oss-20b",
  messages: [{ role: "user", content: "Write a lot." }],
  stream: true,
});

/** Ids of an answer, one in each read, as from an engine that streams. */
function createEngine(): Engine {
  const words = o200kHarmony()
    .encode(" and another word of the answer".repeat(TOKENS / 6))
    .slice(0, TOKENS);
  const ids = [200005, ...o200kHarmony().encode("final"), 200008, ...words, 200002];
  return {
    name: "bench",
    capabilities: {
      idsIn: true,
      idsOut: "exact",
      stopIdVisible: true,
      stopIds: true,
      constraints: [],
      logprobs: false,
      sampling: ["temperature"],
    },
    probe() {
      return Promise.resolve({ description: "bench", capabilities: this.capabilities });
    },
    complete: () =>
      createPushStream<EngineEvent>(async (consumer) => {
        void consumer({ type: "open" });
        for (const id of ids) {
          const more = consumer({ type: "ids", ids: [id] });
          if (!(more === true || (await more))) return;
        }
        void consumer({ type: "finish", reason: "stop", nativeReason: "stop" });
      }),
  };
}

function createGateway(recorder: Recorder | undefined) {
  const settings = resolveSettings([], { public: false });
  return createApp({
    settings,
    models: createModels([{ id: "openai/gpt-oss-20b", engine: createEngine() }], {
      steering: settings,
      newCallId: () => `call_${crypto.randomUUID()}`,
    }),
    recorder,
    log: createLog({ level: "silent", now: Date.now, write: () => undefined }),
    now: Date.now,
    randomId: () => crypto.randomUUID().replaceAll("-", ""),
  });
}

/** Microseconds of CPU per token. */
async function measure(app: ReturnType<typeof createGateway>): Promise<number> {
  const before = process.cpuUsage();
  for (let turn = 0; turn < TURNS; turn++) {
    const response = await app.request("/v1/chat/completions", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: BODY,
    });
    // Read as bytes, as a socket would take them.
    for await (const _ of response.body ?? []) continue;
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / (TURNS * TOKENS);
}

const recorder = createRecorder({
  limits: { maxRecordBytes: 16_777_216, maxTotalBytes: 67_108_864, maxRecords: 1000 },
  keepsContent: true,
  gateway: "bench",
  now: () => new Date(),
  clock: () => performance.now(),
});
recorder.listen(() => undefined);
const off = createGateway(undefined);
const on = createGateway(recorder);
await measure(off);
await measure(on);
const differences: number[] = [];
for (let round = 0; round < ROUNDS; round++) {
  // The order changes, so that neither always runs on the warmer machine.
  const first = round % 2 === 0 ? await measure(off) : await measure(on);
  const second = round % 2 === 0 ? await measure(on) : await measure(off);
  const [without, recorded] = round % 2 === 0 ? [first, second] : [second, first];
  differences.push(recorded / without - 1);
  console.log(`off ${without.toFixed(2)} µs/token   on ${recorded.toFixed(2)} µs/token`);
}
const median = differences.toSorted((a, b) => a - b)[Math.floor(ROUNDS / 2)] ?? 0;
console.log(`median difference ${(median * 100).toFixed(1)} %`);
