/** How long recorded turns are kept: their age, pinning, clearing. */
import { expect, test } from "vitest";
import { createRecordedApp, type RecordedApp } from "../../helpers/recorded-app.ts";
import { scriptedEngine, type ScriptedEngine } from "../../helpers/scripted-engine.ts";

const THINK = "<|channel|>analysis<|message|>Let me think.";
const FINAL = "<|channel|>final<|message|>Hello!<|return|>";
const HELLO = { model: "openai/gpt-oss-20b", messages: [{ role: "user", content: "Hi" }] };

const numbersOf = (app: RecordedApp) => app.entries.map(({ number }) => number);
const ask = async (app: RecordedApp, times = 1, content = "Hello") => {
  for (let turn = 0; turn < times; turn++) {
    const body = { ...HELLO, messages: [{ role: "user", content }] };
    await (await app.post("/v1/chat/completions", body)).text();
  }
};
/** A turn that goes on until the returned function is called. */
const start = async (app: RecordedApp, engine: ScriptedEngine) => {
  const abort = new AbortController();
  const running = app.request("/v1/chat/completions", {
    method: "POST",
    body: JSON.stringify({ ...HELLO, stream: true }),
    signal: abort.signal,
  });
  await expect.poll(() => engine.open).toBe(1);
  return async () => {
    abort.abort();
    await running.then((response) => response.body?.cancel());
  };
};
const small = { maxRecordBytes: 100_000, maxTotalBytes: 100_000, maxRecords: 3 };

test("complete turns are dropped by their age, running and pinned ones are not", async () => {
  let minutes = 0;
  const engine = scriptedEngine([FINAL, FINAL, { write: THINK, hang: true }, FINAL]);
  const now = () => new Date(Date.UTC(2026, 0, 31, 12, minutes));
  const limits = { ...small, maxRecords: 10, maxAgeMs: 60_000 };
  const app = createRecordedApp({ engine, recorder: { limits, now } });
  const told: string[] = [];
  app.recorder.listen(({ number }) =>
    told.push(`${number} ${app.recorder.kept.find(number) !== undefined}`),
  );
  await ask(app, 2);
  const leave = await start(app, engine);
  app.recorder.kept.pin(1);
  minutes = 1;
  app.recorder.kept.dropExpired();
  expect(numbersOf(app)).toEqual([1, 2, 3]);
  minutes = 2;
  await ask(app);
  app.recorder.kept.dropExpired();
  expect(numbersOf(app)).toEqual([1, 3, 4]);
  expect(told.at(-1)).toBe("2 false");
  await leave();
  await expect.poll(() => app.entries[1]?.isComplete).toBe(true);
  app.recorder.kept.unpin(1);
  app.recorder.kept.dropExpired();
  expect(numbersOf(app)).toEqual([4]);
});

test("a pinned turn outlives others and clearing, and its memory is that of its own", async () => {
  const app = createRecordedApp({
    engine: scriptedEngine(() => FINAL),
    recorder: { limits: small },
  });
  await ask(app);
  expect(app.recorder.kept.pin(1)).toBeUndefined();
  expect(app.recorder.kept.pin(1)).toBeUndefined();
  await ask(app, 4);
  expect(numbersOf(app)).toEqual([1, 4, 5]);
  app.recorder.kept.clear();
  expect(numbersOf(app)).toEqual([1]);
  app.recorder.kept.unpin(1);
  app.recorder.kept.clear();
  expect(numbersOf(app)).toEqual([]);
  expect(app.recorder.kept.pin(1)).toBe("missing");
  await ask(app, 1, "a ".repeat(5_000));
  expect((await app.records())[0]?.cut).toEqual([]);
});

test("pinned turns are few, and leave half of the memory to others", async () => {
  const limits = { ...small, maxRecords: 100, maxTotalBytes: 1_000_000 };
  const app = createRecordedApp({ engine: scriptedEngine(() => FINAL), recorder: { limits } });
  await ask(app, 21);
  for (let number = 1; number <= 20; number++) {
    expect(app.recorder.kept.pin(number)).toBeUndefined();
  }
  expect(app.recorder.kept.pin(21)).toBe("full");
  for (let number = 1; number <= 20; number++) app.recorder.kept.unpin(number);
  expect(app.recorder.kept.pin(21)).toBeUndefined();

  const large = createRecordedApp({
    engine: scriptedEngine(() => FINAL),
    recorder: { limits: small },
  });
  await ask(large, 1, "a ".repeat(40_000));
  expect(large.recorder.kept.pin(1)).toBe("full");
});

test("a pinned turn counts with the request that it shares with an earlier one, which is dropped", async () => {
  const limits = { ...small, maxTotalBytes: 400_000, maxRecords: 100 };
  const app = createRecordedApp({ engine: scriptedEngine(() => FINAL), recorder: { limits } });
  const askTwice = async () => {
    const body = { ...HELLO, n: 2, padding: "x".repeat(70_000) };
    await (await app.post("/v1/chat/completions", body)).text();
    return app.recorder.kept.pin(app.entries.at(-1)?.number ?? 0);
  };
  expect([await askTwice(), await askTwice(), await askTwice()]).toEqual([
    undefined,
    undefined,
    "full",
  ]);
  app.recorder.kept.clear();
  expect(numbersOf(app)).toEqual([2, 4]);
  expect(await askTwice()).toBe("full");
  app.recorder.kept.unpin(2);
  app.recorder.kept.clear();
  expect(await askTwice()).toBeUndefined();
});

test("a turn that has not ended is not pinned", async () => {
  const engine = scriptedEngine([{ write: THINK, hang: true }]);
  const app = createRecordedApp({ engine });
  const leave = await start(app, engine);
  expect(app.recorder.kept.pin(1)).toBe("running");
  await leave();
});
