/**
 * The gateway of `startTestGateway` in the project `workerd`: the engine stays in this process, behind HTTP.
 *
 * To start a runtime, load the bundle and build the tokenizer's tables takes longer than most tests. A runtime whose
 * engine is idle is therefore kept for the next gateway with the same settings, in this file or a later one. Ids are
 * random, so its stored entries are not found by other tests.
 */
import { randomUUID } from "node:crypto";
import { inject } from "vitest";
import type { ModelOptions } from "../../src/index.ts";
import { readCounter } from "./counter.ts";
import { type EngineServer, startEngineServer } from "./engine-server.ts";
import { eventually } from "./eventually.ts";
import type { TestGateway } from "./gateway.ts";
import { scriptedEngine } from "./scripted-engine.ts";
import { startWorkerd, type Workerd } from "./workerd.ts";

interface Runtime {
  readonly worker: Workerd;
  readonly engines: readonly EngineServer[];
}

interface Idle {
  /** The settings and models of the runtime. */
  readonly key: string;
  readonly runtime: Runtime;
}

/** Runtimes that wait for another gateway, the longest unused first. */
const idle: Idle[] = [];
const MAX_IDLE = 6;

// Vitest ends its processes by this signal, which by itself runs no exit handlers: runtimes would stay.
process.once("SIGTERM", () => process.exit());

/** @param models absent: the settings define the models. */
export async function startWorkerGateway(
  settings: Readonly<Record<string, unknown>>,
  models: readonly ModelOptions[] = [],
): Promise<TestGateway> {
  const key = JSON.stringify([settings, models.map((model) => ({ ...model, engine: undefined }))]);
  const at = idle.findLastIndex((each) => each.key === key);
  const [reused] = at < 0 ? [] : idle.splice(at, 1);
  const { worker, engines } = reused?.runtime ?? (await startRuntime(settings, models));
  for (const [index, { engine }] of models.entries()) engines[index]?.serve(engine);
  const before = reused ? await takeStock(worker) : { metrics: "", lines: 0 };
  return {
    baseURL: `${worker.origin}/v1`,
    origin: worker.origin,
    reload: () => Promise.reject(new Error("an isolate keeps its settings")),
    get logged() {
      return worker.lines.slice(before.lines).map((line) => JSON.parse(line));
    },
    async counter(sample) {
      const count = readCounter(await readMetrics(worker), sample);
      const earlier = readCounter(before.metrics, sample);
      return count === earlier ? undefined : (count ?? 0) - (earlier ?? 0);
    },
    async close() {
      // Without an engine in this process, its idleness is unknown. Log levels above `info` would hide the start of a
      // gateway.
      const isReusable =
        engines.length > 0 &&
        engines.every((each) => each.open === 0) &&
        [undefined, "info", "debug"].some((level) => settings["log"] === level) &&
        (await hasRecovered(worker, engines));
      if (isReusable) idle.push({ key, runtime: { worker, engines } });
      const surplus = isReusable ? idle.splice(0, idle.length - MAX_IDLE) : [];
      const ending = isReusable ? surplus.map((each) => each.runtime) : [{ worker, engines }];
      await Promise.all(ending.map(closeRuntime));
    },
  };
}

async function startRuntime(
  settings: Readonly<Record<string, unknown>>,
  models: readonly ModelOptions[],
): Promise<Runtime> {
  const engines = await Promise.all(models.map(({ engine }) => startEngineServer(engine)));
  const backends = models.map(({ id, aliases = [], contextLength }, at) => ({
    engine: "vllm",
    url: engines[at]?.url,
    model: "openai/gpt-oss-20b",
    servedName: id,
    aliases,
    ...(contextLength !== undefined && { contextLength }),
  }));
  const worker = await startWorkerd(
    { folder: inject("workerBundle") },
    { open: true, ...settings, ...(backends.length > 0 && { backends }) },
  );
  return { worker, engines };
}

/**
 * A gateway remembers that an engine has failed. A single engine gets requests nevertheless, and is trusted again once
 * it has answered one; with several engines, one may be excluded for longer.
 */
async function hasRecovered(
  { origin }: Workerd,
  engines: readonly EngineServer[],
): Promise<boolean> {
  const [only] = engines;
  if (!engines.some(({ hasFailed }) => hasFailed)) return true;
  if (engines.length > 1 || only === undefined) return false;
  only.serve(scriptedEngine(() => "<|channel|>final<|message|>Well.<|return|>"));
  const response = await fetch(`${origin}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ messages: [{ role: "user", content: "Are you well?" }] }),
  });
  await response.text();
  return response.ok;
}

async function closeRuntime({ worker, engines }: Runtime): Promise<void> {
  await Promise.all([worker, ...engines].map((each) => each.close()));
}

/**
 * The log and metrics of a runtime so far. The line of this function's own request shows that all earlier lines have
 * arrived.
 */
async function takeStock(worker: Workerd): Promise<{ metrics: string; lines: number }> {
  const id = randomUUID();
  await (await fetch(`${worker.origin}/v1/models`, { headers: { "x-request-id": id } })).text();
  const lines = await eventually(() => {
    const line = worker.lines.findIndex((each) => each.includes(id));
    if (line < 0) throw new Error("the request has not been logged yet");
    return line + 1;
  });
  return { metrics: await readMetrics(worker), lines };
}

async function readMetrics({ origin }: Workerd): Promise<string> {
  return (await fetch(`${origin}/metrics`)).text();
}
