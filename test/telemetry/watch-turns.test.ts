import { expect, test } from "vitest";
import { createGateway, EngineError, type Model } from "../../src/index.ts";
import { consume } from "../../src/streams/push-stream.ts";
import { watchTurns } from "../../src/telemetry/watch-turns.ts";
import { fakeEngine } from "../helpers/fake-engine.ts";
import { turnWith } from "../helpers/turns.ts";

type Begins = Parameters<typeof watchTurns>[1];

/** A model whose turns have two events, then end by the error. */
function watched(error: Error | undefined, begins: Begins): Model {
  const { models } = createGateway({ engine: fakeEngine(), log: "silent" });
  const all = models.all.map((model): Model => ({
    ...model,
    async *run() {
      yield { type: "part-start", part: { kind: "content" } };
      yield { type: "part-delta", text: "Hi" };
      if (error !== undefined) throw error;
    },
  }));
  const [model] = watchTurns({ ...models, all }, begins).all;
  if (model === undefined) throw new Error("There is no model.");
  return model;
}

test.each([
  ["nothing", undefined, false, "cancelled"],
  ["an error", new Error("broken"), false, "failed"],
  ["a limit of the key", new EngineError("tenant-limit", "full"), false, "rejected"],
  ["an error behind an abort", new Error("broken"), true, "cancelled"],
])("a turn that ends by %s is over once, for every watch", async (_, error, aborts, outcome) => {
  const seen: unknown[] = [];
  const begin =
    (name: string): Begins[number] =>
    () => ({
      see: (event) => seen.push([name, event.type]),
      over: (how, why) => seen.push([name, how, why]),
    });
  const abort = new AbortController();
  const stream = watched(error, [begin("a"), () => undefined, begin("b")]).run(
    turnWith(),
    abort.signal,
  );
  if (aborts) abort.abort();
  await consume(stream, () => true).catch(() => undefined);
  const why = outcome === "cancelled" ? undefined : error;
  expect(seen).toEqual([
    ["a", "part-start"],
    ["b", "part-start"],
    ["a", "part-delta"],
    ["b", "part-delta"],
    ["a", outcome, why],
    ["b", outcome, why],
  ]);
});

test("an event is seen although its consumer fails: its tokens were generated", async () => {
  const seen: string[] = [];
  const stream = watched(undefined, [
    () => ({ see: ({ type }) => seen.push(type), over: (how) => seen.push(how) }),
  ]);
  const run = stream.run(turnWith(), new AbortController().signal);
  await expect(
    consume(run, () => {
      throw new Error("cannot be written");
    }),
  ).rejects.toThrow("cannot be written");
  expect(seen).toEqual(["part-start", "failed"]);
});
