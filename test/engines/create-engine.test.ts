import { createEngine, ENGINE_KINDS } from "../../src/index.ts";
import { describe, expect, test } from "vitest";

import { type EngineOptions, ENGINES } from "../../src/engines/create-engine.ts";
import { complete, jsonAnswer, scriptTransport } from "./support.ts";

const options = (): EngineOptions & { transport: ReturnType<typeof scriptTransport> } => ({
  model: "gpt-oss-20b",
  transport: scriptTransport(() => jsonAnswer({ error: "no" }, 503)),
});

test("the list has an entry for each kind, under its own name", () => {
  expect(Object.keys(ENGINES).toSorted()).toEqual([...ENGINE_KINDS].toSorted());
});

describe.each(ENGINE_KINDS)("%s", (kind) => {
  const { title, capabilities } = ENGINES[kind];

  test("is created with the capabilities and the name the list says", () => {
    const engine = createEngine(kind, { ...options(), url: "http://engine:1" });
    expect([engine.name, engine.capabilities]).toEqual([kind, capabilities]);
  });

  test("has a title of one line without a full stop", () => {
    expect(title).toMatch(/^[^\n]+[^.\n]$/);
  });
});

test("an engine without a default URL says that it needs one", () => {
  expect(() => createEngine("completions", options())).toThrow(
    'The engine "completions" needs the URL of its server.',
  );
});

const usualUrls = ENGINE_KINDS.flatMap((kind) => {
  const { url } = ENGINES[kind];
  return typeof url === "object" ? [[kind, url.default] as const] : [];
});

test.each(usualUrls)("%s uses %s when no URL is given", async (kind, url) => {
  const given = options();
  await complete(createEngine(kind, given));
  expect(given.transport.requests[0]?.url.startsWith(`${url}/`)).toBe(true);
});
