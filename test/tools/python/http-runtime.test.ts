import { describe, expect, test } from "vitest";
import { createHttpPython } from "../../../src/tools/python/http-runtime.ts";

const never = new AbortController().signal;

interface Seen {
  readonly method: string;
  readonly url: string;
  readonly authorization: string | null;
  readonly body: unknown;
}

function createSandbox(answer: (seen: Seen) => Response | Promise<Response>) {
  const requests: Seen[] = [];
  let ids = 0;
  const runtime = createHttpPython({
    url: "https://sandbox.test/run",
    key: "secret",
    timeoutMs: 60_000,
    newId: () => `id${++ids}`,
    async fetch(input, init) {
      const request = new Request(input, init);
      const seen = {
        method: request.method,
        url: request.url,
        authorization: request.headers.get("authorization"),
        body: request.method === "POST" ? await request.json() : undefined,
      };
      requests.push(seen);
      return answer(seen);
    },
  });
  return { runtime, requests };
}

const ok = (extra: object = {}) => Response.json({ status: "ok", output: "1\n", ...extra });

test("sends code with its session and returns the response", async () => {
  const files = [{ path: "/mnt/data/a.svg", base64: "PHN2Zy8+" }];
  const { runtime, requests } = createSandbox(() => ok({ files }));
  const session = await runtime.open({ tenant: "acme" }, never);
  const outcome = await session.run("x = 1", never);
  await session.run("x", never);
  expect(outcome).toEqual({ status: "ok", output: "1\n", files, withheld: [], restarted: false });
  expect(requests).toEqual(
    ["x = 1", "x"].map((code, index) => ({
      method: "POST",
      url: "https://sandbox.test/run",
      authorization: "Bearer secret",
      body: { session: session.id, call: index + 1, code, timeout_ms: 60_000 },
    })),
  );
});

test("a session is resumed by its own tenant only", async () => {
  const { runtime, requests } = createSandbox(() => ok());
  const { id } = await runtime.open({ tenant: "acme" }, never);
  const again = await runtime.open({ tenant: "acme", id }, never);
  const other = await runtime.open({ tenant: "other", id }, never);
  await again.run("x", never);
  expect([again.id === id, again.resumed, other.id === id, other.resumed]).toEqual([
    true,
    true,
    false,
    false,
  ]);
  expect(requests[0]?.body).toMatchObject({ session: id, call: 2 });
});

describe("a sandbox that fails", () => {
  test.each<[string, () => Response | Promise<Response>, RegExp]>([
    ["has no room", () => new Response(null, { status: 429 }), /has no room/],
    ["fails", () => Response.json({}, { status: 500 }), /failed/],
    ["answers something else", () => Response.json({ status: "fine" }), /failed/],
    ["answers no JSON", () => new Response("<html>"), /does not answer/],
    ["cannot be reached", () => Promise.reject(new TypeError("fetch failed")), /does not answer/],
    ["answers too much", () => ok({ output: "x".repeat(10_000_000) }), /answered too much/],
  ])("%s", async (_, answer, expected) => {
    const { runtime } = createSandbox(answer);
    const session = await runtime.open({ tenant: "acme" }, never);
    await expect(session.run("1", never)).rejects.toThrow(expected);
  });
});

test("long output is cut", async () => {
  const { runtime } = createSandbox(() => ok({ output: "x".repeat(50_000) }));
  const session = await runtime.open({ tenant: "acme" }, never);
  expect((await session.run("1", never)).output.length).toBeLessThan(20_100);
});

test("files and names beyond the limit are not looked at", async () => {
  const withheld = [...Array.from({ length: 100 }, () => "a"), 1];
  const { runtime } = createSandbox(() => ok({ output: "", withheld }));
  const session = await runtime.open({ tenant: "acme" }, never);
  expect((await session.run("1", never)).withheld).toEqual(withheld.slice(0, 100));
});

test("an abort ends the session", async () => {
  const leaving = new AbortController();
  const { runtime, requests } = createSandbox(({ method }) => {
    if (method === "DELETE") return new Response(null, { status: 204 });
    leaving.abort(new Error("left"));
    return Promise.reject(new Error("aborted"));
  });
  const session = await runtime.open({ tenant: "acme" }, never);
  await expect(session.run("1", leaving.signal)).rejects.toThrow("left");
  expect(requests.at(-1)).toMatchObject({
    method: "DELETE",
    url: `https://sandbox.test/run/${session.id}`,
  });
});
