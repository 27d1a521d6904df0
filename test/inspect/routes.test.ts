import { gzipSync } from "node:zlib";
import { describe, expect, onTestFinished, test } from "vitest";
import { Hono } from "hono";
import * as z from "zod";
import { inspectorRoutes } from "../../src/inspect/routes.ts";
import { createGateway, type Engine } from "../../src/index.ts";
import { createAssets } from "../../src/node/pages/assets.ts";
import { eventually } from "../helpers/eventually.ts";
import { startTestGateway } from "../helpers/gateway.ts";
import { createRecordedApp } from "../helpers/recorded-app.ts";
import { scriptedEngine } from "../helpers/scripted-engine.ts";

type InspectorOptions = Parameters<typeof inspectorRoutes>[0];

const TOKEN = "token-of-the-inspector-test";
const FINAL = "<|channel|>final<|message|></script><script>alert(1)</script><|return|>";
const HELLO = { model: "openai/gpt-oss-20b", messages: [{ role: "user", content: "Hi" }] };
const OWN = { host: "127.0.0.1:8787", "x-inspect-token": TOKEN };

function createInspected(
  isChosen = false,
  capture?: InspectorOptions["capture"],
  engine: Engine = scriptedEngine(() => FINAL),
  runAgain: InspectorOptions["runAgain"] = () => Promise.reject(new Error("not asked for")),
  keyUses?: InspectorOptions["keyUses"],
) {
  const closing = new AbortController();
  const recorded = createRecordedApp({ engine });
  const { models } = createGateway({ engine, log: "silent" });
  const assets = createAssets();
  const app = new Hono().route(
    "/",
    inspectorRoutes({
      recorder: recorded.recorder,
      ...(capture && { capture }),
      assets,
      runAgain,
      keeps: { turns: 100, bytes: 16_000_000, seconds: 60 },
      models: () => models,
      ...(keyUses && { keyUses }),
      isOneOfSeveral: false,
      hasKeys: false,
      hasChat: true,
      version: "0.0.0-test",
      token: TOKEN,
      isChosen,
      host: "127.0.0.1",
      allowedHosts: ["gateway.local"],
      closing: closing.signal,
    }),
  );
  const get = async (path: string, headers: Record<string, string> = OWN) =>
    app.request(`http://127.0.0.1:8787${path}`, { headers });
  return { recorded, app, get, closing };
}

test("the page contains no data, and its policy forbids other origins and inline code", async () => {
  const { get } = createInspected();
  const page = await get("/inspect", { host: "127.0.0.1:8787" });
  expect(page.status).toBe(200);
  const policy = page.headers.get("content-security-policy") ?? "";
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).not.toMatch(/unsafe|https?:|\*/);
  const html = await page.text();
  expect(html).not.toContain(TOKEN);
  expect(html).not.toMatch(/<script(?![^>]*\bsrc=)|<style| on\w+=|https?:/);
});

test("records require the token", async () => {
  const { get } = createInspected();
  const paths = ["turns", "turns/1", "turns/newest", "turns/1/file", "changes", "keys"].map(
    (each) => `/inspect/api/${each}`,
  );
  for (const path of paths) {
    expect((await get(path, { host: "127.0.0.1:8787" })).status).toBe(401);
    const wrong = { host: "127.0.0.1:8787", "x-inspect-token": `${TOKEN}x` };
    expect((await get(path, wrong)).status).toBe(401);
    expect((await get(`${path}?token=${TOKEN}`, { host: "127.0.0.1:8787" })).status).toBe(401);
  }
  expect((await get("/inspect/api/turns")).status).toBe(200);
});

describe("requests whose host or origin is not a name of this machine", () => {
  const FOREIGN: readonly (readonly [string, Record<string, string>])[] = [
    ["another host name (DNS rebinding)", { host: "attacker.example" }],
    ["another origin (CSRF)", { origin: "https://attacker.example" }],
    ["another port's page", { origin: "http://127.0.0.1:3000" }],
    ["an opaque origin", { origin: "null" }],
    ["a page of another site", { "sec-fetch-site": "cross-site", "sec-fetch-mode": "cors" }],
    ["a page of the same site", { "sec-fetch-site": "same-site", "sec-fetch-mode": "no-cors" }],
    ["a proxy", { "x-forwarded-for": "203.0.113.7" }],
    ["a proxy that says so by the standard", { forwarded: "for=203.0.113.7" }],
  ];

  test.each(FOREIGN)("%s is refused, even with the right token", async (_, headers) => {
    const { get } = createInspected();
    for (const path of ["/inspect", "/inspect/app/any/style.css", "/inspect/api/turns"]) {
      const response = await get(path, { ...OWN, ...headers });
      expect(response.status).toBe(403);
    }
  });

  test.each([["localhost:8787"], ["[::1]:8787"], ["gateway.local:8787"]])(
    "the name %s is allowed",
    async (host) => {
      const { get } = createInspected();
      const own = { ...OWN, host, origin: `http://${host}` };
      expect((await get("/inspect/api/turns", own)).status).toBe(200);
    },
  );

  test("behind a proxy, a token configured by the operator is required and sufficient", async () => {
    const { get } = createInspected(true);
    const headers = { host: "gateway.example", "x-forwarded-for": "203.0.113.7" };
    expect((await get("/inspect/api/turns", headers)).status).toBe(401);
    const known = { ...headers, "x-inspect-token": TOKEN };
    expect((await get("/inspect/api/turns", known)).status).toBe(200);
    const foreign = { ...known, origin: "https://attacker.example" };
    expect((await get("/inspect/api/turns", foreign)).status).toBe(403);
  });
});

test("pages share one reading of the audit file, and one that fails is as no file", async () => {
  let readings = 0;
  let isGone = false;
  const uses = { since: "2026-11-26T09:00:00.000Z", count: 0, keys: [] };
  const { get } = createInspected(false, undefined, undefined, undefined, async () => {
    readings += 1;
    await new Promise((resolve) => setImmediate(resolve));
    if (isGone) throw new Error("the disk is gone");
    return uses;
  });
  const read = async () => (await get("/inspect/api/keys")).json();
  expect(await Promise.all([read(), read()])).toEqual([{ uses }, { uses }]);
  expect(readings).toBe(1);
  isGone = true;
  expect(await read()).toEqual({});
  expect(await (await createInspected().get("/inspect/api/keys")).json()).toEqual({});
});

test("a turn is served with the texts of its tokens, and as a file that loads nothing", async () => {
  const { recorded, get } = createInspected();
  await (await recorded.post("/v1/chat/completions", HELLO)).text();
  const turn = z
    .object({ row: z.unknown(), tokens: z.record(z.string(), z.unknown()) })
    .parse(await (await get("/inspect/api/turns/1")).json());
  expect(turn.row).toMatchObject({ number: 1, words: "Hi", outcome: "stop" });
  expect(turn.tokens["200006"]).toBe("<|start|>");
  const file = await get("/inspect/api/turns/1/file");
  expect(file.headers.get("content-type")).toBe("application/octet-stream");
  const html = await file.text();
  expect(html).not.toContain("</script><script>alert");
  expect(html.match(/<script/g)).toHaveLength(3);
  expect(html).not.toMatch(/\b(?:src|href)=/);
  expect(html).toContain("default-src 'none'");
  const json = await get("/inspect/api/turns/1/file?as=json");
  expect(await json.json()).toMatchObject({ version: 1, end: { outcome: "stop" } });
  expect((await get("/inspect/api/turns/99")).status).toBe(404);
});

test.each(["{", "7", '{"prompt":true}'])(
  "a turn is served as a whole to a page whose position is no position: %s",
  async (since) => {
    const { recorded, get } = createInspected();
    await (await recorded.post("/v1/chat/completions", HELLO)).text();
    const path = "/inspect/api/turns/1";
    const whole: unknown = await (await get(path)).json();
    const served = await get(`${path}?since=${encodeURIComponent(since)}`);
    expect(await served.json()).toEqual(whole);
  },
);

test("the file of a long turn is sent in chunks", async () => {
  const long = `<|channel|>final<|message|>${"token ".repeat(8000)}<|return|>`;
  const { recorded, get } = createInspected(
    false,
    undefined,
    scriptedEngine(() => long),
  );
  await (await recorded.post("/v1/chat/completions", { ...HELLO, stream: true })).text();
  for (const query of ["", "?as=json"]) {
    const { body } = await get(`/inspect/api/turns/1/file${query}`);
    if (body === null) throw new Error("no body");
    const sizes = (await Array.fromAsync(body)).map(({ length }) => length);
    expect(sizes.reduce((sum, size) => sum + size)).toBeGreaterThan(2_000_000);
    expect(Math.max(...sizes)).toBeLessThan(1_000_000);
  }
});

/** The page of a running gateway: the paths of the files in its HTML, where they are relative. */
async function openPage() {
  const gateway = await startTestGateway({
    engine: scriptedEngine([]),
    settings: { inspect: true },
  });
  onTestFinished(() => gateway.close());
  const get = (path: string) => fetch(gateway.origin + path);
  const html = await (await get("/inspect")).text();
  const named = Array.from(
    html.matchAll(/(?:src|href)="([^"]+)"/g),
    ([, address = ""]) => `/${address}`,
  );
  return { get, named, scripts: named.filter((address) => /\.[jt]s$/.test(address)) };
}

test("the page names every module that it will import, once, so that all are loaded at the same time", async () => {
  const { get, named, scripts } = await openPage();
  expect(new Set(named).size).toBe(named.length);
  expect(scripts.length).toBeGreaterThan(15);
  for (const address of scripts) {
    const text = await (await get(address)).text();
    for (const [, name = ""] of text.matchAll(/from\s*"(\.[^"]+)"/g)) {
      expect(named).toContain(new URL(name, `http://host${address}`).pathname);
    }
  }
});

async function postCapture(path: string, app: Hono): Promise<Response> {
  const address = `http://127.0.0.1:8787/inspect/api/turns/${path}/capture`;
  return app.request(address, { method: "POST", headers: OWN });
}

test("a turn that has ended is written into the folder for captures, where there is one", async () => {
  const without = createInspected();
  await (await without.recorded.post("/v1/chat/completions", HELLO)).text();
  expect((await postCapture("1", without.app)).status).toBe(404);

  const asked: number[] = [];
  const { recorded, app, get } = createInspected(false, ({ number }) => {
    asked.push(number);
    return number === 1 ? Promise.resolve("turns/1.json") : Promise.reject(new Error("no space"));
  });
  expect(await (await get("/inspect/api/turns")).json()).toMatchObject({ hasCapture: true });
  for (let turn = 0; turn < 2; turn++) {
    await (await recorded.post("/v1/chat/completions", HELLO)).text();
  }
  expect(await (await postCapture("1", app)).json()).toEqual({ path: "turns/1.json" });
  const failed = await postCapture("2", app);
  expect(failed.status).toBe(500);
  expect(await failed.json()).toEqual({ error: "The turn could not be saved: no space." });
  expect((await postCapture("3", app)).status).toBe(404);
  expect(asked).toEqual([1, 2]);
});

test("a turn that has not ended is not written yet", async () => {
  const { promise: end, resolve } = Promise.withResolvers<void>();
  const engine = scriptedEngine(() => FINAL);
  const { recorded, app } = createInspected(false, () => Promise.resolve("never"), {
    ...engine,
    async *complete(request, signal) {
      await end;
      yield* engine.complete(request, signal);
    },
  });
  const answered = recorded.post("/v1/chat/completions", HELLO);
  await eventually(() => expect(recorded.entries).toHaveLength(1));
  expect((await postCapture("1", app)).status).toBe(409);
  resolve();
  await (await answered).text();
});

test("only the page's own files are served, and may be kept: their address has a hash of them", async () => {
  const { get, named } = await openPage();
  for (const address of named) {
    const response = await get(address);
    expect(response.status).toBe(200);
    expect(response.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
  }
  const base = /^\/app\/[^/]+\/web\/inspect\//.exec(named[1] ?? "")?.[0];
  for (const name of ["tsconfig.json", "..%2Froutes.ts", "..%2f..%2fapp.ts", "none.js", "."]) {
    expect((await get(`${base}${name}`)).status).toBe(404);
  }
  expect((await get("/app/inspect-another/style.css")).status).toBe(404);
  expect((await get("/app/another-version/style.css")).status).toBe(404);
});

test("the newest turn can be requested before its number is known", async () => {
  const { recorded, get } = createInspected();
  expect((await get("/inspect/api/turns/newest")).status).toBe(204);
  for (const content of ["first", "second"]) {
    const body = { ...HELLO, messages: [{ role: "user", content }] };
    await (await recorded.post("/v1/chat/completions", body)).text();
  }
  const newest = await (await get("/inspect/api/turns/newest")).json();
  expect(newest).toMatchObject({ row: { number: 2, words: "second" } });
});

test("the scripts are JavaScript without types, below 60 KB after gzip", async () => {
  const { get, scripts } = await openPage();
  expect(scripts).toContainEqual(expect.stringMatching(/web\/inspect\/app\.ts$/));
  const texts = scripts.map(async (address) => (await get(address)).text());
  const all = (await Promise.all(texts)).join("\n");
  expect(all).not.toMatch(/\binterface \w+|: TemplateResult|from "lit-html"/);
  expect(gzipSync(all).length).toBeLessThan(60_000);
});

test("open pages are notified of changes, up to a maximum number of pages", async () => {
  const { recorded, get } = createInspected();
  const streams = await Promise.all(Array.from({ length: 17 }, () => get("/inspect/api/changes")));
  expect(streams.map(({ status }) => status).filter((status) => status === 503)).toHaveLength(1);
  const reader = streams[0]?.body?.pipeThrough(new TextDecoderStream()).getReader();
  await (await recorded.post("/v1/chat/completions", HELLO)).text();
  let text = "";
  while (!text.includes('"isComplete":true')) text += (await reader?.read())?.value ?? "";
  expect(text).toContain('"words":"Hi"');
  for (const stream of streams.slice(1, 16)) await stream.body?.cancel();
  await reader?.cancel();
  expect((await get("/inspect/api/changes")).status).toBe(200);
});

/** The events of the stream of changes until one passes. */
async function nextNews(
  reader: ReadableStreamDefaultReader<string> | undefined,
  passes: (news: string) => boolean,
): Promise<string> {
  let text = "";
  for (;;) {
    text += (await reader?.read())?.value ?? "";
    const found = text.split("\n\n").find((event) => event.startsWith("data: ") && passes(event));
    if (found !== undefined) return found;
  }
}

test("open pages learn of turns that are pinned, unpinned and dropped", async () => {
  const { recorded, app, get } = createInspected();
  for (let turn = 0; turn < 2; turn++) {
    await (await recorded.post("/v1/chat/completions", HELLO)).text();
  }
  const send = (method: string, path: string) =>
    app.request(`http://127.0.0.1:8787/inspect/api/${path}`, { method, headers: OWN });
  const changes = await get("/inspect/api/changes");
  const reader = changes.body?.pipeThrough(new TextDecoderStream()).getReader();
  expect((await send("POST", "turns/1/pin")).status).toBe(200);
  expect(await nextNews(reader, (news) => news.includes('"isPinned":true'))).toContain(
    '"number":1',
  );
  expect((await send("DELETE", "turns")).status).toBe(200);
  expect(await nextNews(reader, (news) => news.includes('"dropped":[2]'))).toContain('"rows":[]');
  expect((await send("DELETE", "turns/1/pin")).status).toBe(200);
  await send("DELETE", "turns");
  expect(await nextNews(reader, (news) => news.includes('"dropped":[1]'))).toContain('"rows":[]');
  const missing = await send("POST", "turns/1/pin");
  expect(missing.status).toBe(404);
  expect(await missing.json()).toEqual({ error: "This turn is no longer kept." });
  await reader?.cancel();
});

test("a shutdown does not wait for open pages", async () => {
  const { get, closing } = createInspected();
  const stream = await get("/inspect/api/changes");
  closing.abort();
  expect(await stream.text()).toBe(": \n\n");
  const late = await get("/inspect/api/changes");
  expect(await late.text()).toBe(": \n\n");
});

describe("the error", () => {
  const POST = { method: "POST", headers: OWN };
  const errorOf = async (response: Response | Promise<Response>) =>
    z.object({ error: z.string() }).parse(await (await response).json()).error;

  test.each<[string, Record<string, string>, string]>([
    [
      "of another host name",
      { host: "attacker.example" },
      "The host name attacker.example is not allowed here. Add it to allowedHosts, or use the address that was printed.",
    ],
    [
      "of another origin",
      { origin: "https://attacker.example" },
      "Pages of other origins may not use the inspector.",
    ],
    [
      "of a proxy",
      { "x-forwarded-for": "203.0.113.7" },
      "The request came through a proxy (x-forwarded-for). Set inspectKey to use the inspector behind one.",
    ],
    [
      "of a wrong token",
      { "x-inspect-token": "x" },
      "The token is missing or wrong. Open the address that was printed.",
    ],
  ])("%s", async (_, headers, message) => {
    const { get } = createInspected();
    expect(await errorOf(get("/inspect/api/turns", { ...OWN, ...headers }))).toBe(message);
  });

  test("of a turn that is not kept, has not ended or cannot be saved", async () => {
    const engine = scriptedEngine([{ write: "<|channel|>final<|message|>Hi", hang: true }]);
    const { get, app, recorded } = createInspected(false, async () => "file", engine);
    const save = (of: typeof app) =>
      of.request("http://127.0.0.1:8787/inspect/api/turns/1/capture", POST);
    expect(await errorOf(get("/inspect/api/turns/1"))).toBe("This turn is no longer kept.");
    expect(await errorOf(save(createInspected().app))).toBe("No folder for captures is set.");
    const abort = new AbortController();
    const asked = recorded.request("/v1/chat/completions", {
      method: "POST",
      body: JSON.stringify({ ...HELLO, stream: true }),
      signal: abort.signal,
    });
    await expect.poll(() => engine.open).toBe(1);
    expect(await errorOf(save(app))).toBe("The turn has not ended yet.");
    abort.abort();
    await asked.then((response) => response.body?.cancel());
  });

  test("of a turn that fails to run again", async () => {
    const { app, recorded } = createInspected();
    await (await recorded.post("/v1/chat/completions", HELLO)).text();
    const run = () => app.request("http://127.0.0.1:8787/inspect/api/turns/1/again", POST);
    expect(await errorOf(run())).toBe("The turn could not be run again: not asked for.");
    expect((await run()).status).toBe(502);
  });

  test("of a run that is not kept", async () => {
    const { app, recorded } = createInspected(false, undefined, undefined, async () => undefined);
    await (await recorded.post("/v1/chat/completions", HELLO)).text();
    const run = app.request("http://127.0.0.1:8787/inspect/api/turns/1/again", POST);
    expect(await errorOf(run)).toBe(
      "The turn has run again, but the memory of the inspector has no room for the run.",
    );
  });

  test("of too many open pages", async () => {
    const { get, closing } = createInspected();
    const pages = await Promise.all(Array.from({ length: 20 }, () => get("/inspect/api/changes")));
    const refused = pages.find(({ status }) => status === 503);
    expect(refused && (await errorOf(refused))).toBe("Too many pages are open.");
    closing.abort();
  });
});
