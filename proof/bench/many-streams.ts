/**
 * The cost of a token in the application, from the engine's bytes to the client's frame, when many streams take turns:
 * with shared data in the processor's caches, and with the caches flushed before each round, which is the state a
 * process finds when it sleeps between two steps of an engine.
 *
 *     node proof/bench/many-streams.ts [streams] [chat|responses]
 */
import { setTimeout as pause } from "node:timers/promises";
import type { SseSource } from "../../src/api/reply/event-stream.ts";
import type { BytesConsumer } from "../../src/engines/transport.ts";
import { createBenchApp, toRequest } from "./inner/app.ts";
import { toMeasured } from "./statistics.ts";
import { fillIn, planCompletion, tokenEvent } from "./streaming/completion.ts";
import { createRequest } from "./streaming/requests.ts";

const STEPS = 200;
const ROUNDS = 7;
/** More than a core's caches hold. */
const EVICTING_BYTES = 32 * 1024 * 1024;

const [streams = "64", wire = "chat"] = process.argv.slice(2);
const events = fillIn(planCompletion("loop", 5000)).map((word) => Buffer.from(tokenEvent(word)));
const trash = new Float64Array(EVICTING_BYTES / 8);

const engines: BytesConsumer[] = [];
const app = createBenchApp(async () => ({
  status: 200,
  headers: { get: (name) => (name === "content-type" ? "text/event-stream" : null) },
  pump: (take) => {
    engines.push(take);
    return new Promise(() => {});
  },
  close: () => {},
}));
let bytes = 0;
const takeFrames = ({ frames }: SseSource) => {
  void frames.pushTo((frame) => {
    bytes += Buffer.byteLength(frame);
    return true;
  });
};
const { path, body } = createRequest(wire === "responses" ? "responses" : "chat");
for (let i = 0; i < Number(streams); i++) void app.fetch(toRequest(path, body), { takeFrames });
while (engines.length < Number(streams)) await rest();

let at = 0;
measure(false);
for (const evicting of [false, true]) {
  const rounds = Array.from({ length: ROUNDS }, () => measure(evicting));
  const { median, min, max } = toMeasured(rounds);
  const how = evicting ? "caches emptied" : "caches warm";
  console.log(
    `${wire}, ${streams} streams, ${how}: ${median.toFixed(1)} µs a token (${min.toFixed(1)}–${max.toFixed(1)})`,
  );
}
if (bytes === 0) throw new Error("nothing was written");
process.exit();

/** Microseconds per token. */
function measure(evicting: boolean): number {
  let nanoseconds = 0n;
  for (let step = 0; step < STEPS; step++) {
    if (evicting) for (let i = 0; i < trash.length; i += 8) trash[i] = step;
    const event = events[at++ % events.length] ?? Buffer.alloc(0);
    const start = process.hrtime.bigint();
    for (const take of engines) void take(event);
    nanoseconds += process.hrtime.bigint() - start;
  }
  return Number(nanoseconds) / 1000 / STEPS / engines.length;
}

function rest(): Promise<void> {
  return pause(20);
}
