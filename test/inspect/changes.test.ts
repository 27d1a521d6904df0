import { expect, test } from "vitest";
import { streamChanges } from "../../src/inspect/changes.ts";
import { createRecordedApp } from "../helpers/recorded-app.ts";
import { scriptedEngine } from "../helpers/scripted-engine.ts";

test("for a page that does not read, only numbers wait, and it learns that it has to load the list again", async () => {
  const app = createRecordedApp({
    engine: scriptedEngine(() => "<|channel|>final<|message|>Hello!<|return|>"),
  });
  const { recorder } = app;
  const messages = [{ role: "user", content: "Hi" }];
  await (await app.post("/v1/chat/completions", { model: "openai/gpt-oss-20b", messages })).text();
  const entry = recorder.kept.find(1);
  if (entry === undefined) throw new Error("nothing was recorded");
  type Listener = Parameters<typeof recorder.listen>[0];
  const listeners = new Set<Listener>();
  const listened = {
    kept: recorder.kept,
    listen: (listener: Listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
  const stream = streamChanges(listened, ({ number }) => ({ number }), []);
  const reader = stream?.pipeThrough(new TextDecoderStream()).getReader();
  const next = async () => {
    for (;;) {
      const { value } = (await reader?.read()) ?? {};
      if (value === undefined || value.startsWith("data: ")) return value;
    }
  };
  const tell = (from: number, to: number) => {
    for (let number = from; number <= to; number++) {
      for (const listener of listeners) listener({ ...entry, number });
    }
  };
  tell(1, 2000);
  expect(await next()).toMatch(/^data: \{"rows":\[\{"number":1\}\],"dropped":\[2,3,/);
  tell(1, 2001);
  expect(await next()).toBe('data: {"isBehind":true}\n\n');
  tell(1, 1);
  expect(await next()).toBe('data: {"rows":[{"number":1}],"dropped":[]}\n\n');
  await reader?.cancel();
  expect(listeners.size).toBe(0);
});
