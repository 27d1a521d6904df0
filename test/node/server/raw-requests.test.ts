import { hash } from "node:crypto";
import { EventEmitter } from "node:events";
import { createServer } from "node:http";
import { connect } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { isWebSocketUpgrade, refuseOtherUpgrades } from "../../../src/node/server/raw-requests.ts";
import { startTestGateway, type TestGateway } from "../../helpers/gateway.ts";

const closing: (() => Promise<void>)[] = [];

afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

async function start(settings: Record<string, unknown> = {}): Promise<TestGateway> {
  const gateway = await startTestGateway({ settings });
  closing.push(() => gateway.close());
  return gateway;
}

/** Sends bytes unchanged. Returns the answer up to the end of its head, with the part of the body that has arrived. */
async function sendRaw(origin: string, lines: readonly string[]): Promise<string> {
  const { port, hostname } = new URL(origin);
  const socket = connect(Number(port), hostname);
  socket.write(`${lines.join("\r\n")}\r\n\r\n`);
  let answer = "";
  for await (const bytes of socket) {
    answer += String(bytes);
    if (answer.includes("\r\n\r\n")) break;
  }
  socket.destroy();
  return answer;
}

const HOST = "Host: localhost";
const HG_1 = "Authorization: Bearer hg-1";
const PATHS = new Set(["/v1/responses"]);

/** Absent before Node 24.9. Without it, upgrades that are not offered are refused instead of ignored. */
const CAN_IGNORE_UPGRADES = "shouldUpgradeCallback" in createServer();

describe("an upgrade", () => {
  test.runIf(CAN_IGNORE_UPGRADES)(
    "to HTTP/2 is ignored: the request is answered over HTTP/1.1 (skipped where Node cannot ignore upgrades)",
    async () => {
      const { origin } = await start();
      const answer = await sendRaw(origin, [
        "GET /v1/models HTTP/1.1",
        HOST,
        "Connection: Upgrade, HTTP2-Settings",
        "Upgrade: h2c",
        "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA",
      ]);
      expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
      expect(answer).toContain('"object":"list"');
    },
  );

  test.runIf(CAN_IGNORE_UPGRADES)(
    "to a WebSocket where there is none is ignored as well (skipped where Node cannot ignore upgrades)",
    async () => {
      const { origin } = await start();
      for (const [path, status] of [
        ["/v1/models", 200],
        ["/nothing", 404],
      ]) {
        const answer = await sendRaw(origin, [`GET ${path} HTTP/1.1`, HOST, ...WEB_SOCKET]);
        expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
        expect(answer).toMatch(/\r\n\r\n\{/);
      }
    },
  );

  test.each(["/v1", "/api/v1", "/open-responses/v1"])(
    "to a WebSocket is made at %s/responses",
    async (prefix) => {
      const { origin } = await start();
      const path = `${prefix}/responses?x=1`;
      const answer = await sendRaw(origin, [`GET ${path} HTTP/1.1`, HOST, ...WEB_SOCKET]);
      expect(answer).toMatch(/^HTTP\/1\.1 101 /);
    },
  );

  test("is refused if Node passes all upgrades to the listener", () => {
    // A server of Node before 24.9 has no `shouldUpgradeCallback`.
    const server = new EventEmitter();
    const taken: string[] = [];
    server.on("upgrade", ({ url }: { url: string }) => taken.push(url));
    refuseOtherUpgrades(server, PATHS);
    const ask = (url: string, upgrade: string) => {
      let answer = "";
      server.emit(
        "upgrade",
        { url, headers: { upgrade } },
        { end: (text: string) => (answer = text) },
      );
      return answer;
    };
    expect(ask("/v1/models", "h2c")).toMatch(/^HTTP\/1\.1 400 /);
    expect(ask("/v1/models", "websocket")).toMatch(/^HTTP\/1\.1 400 /);
    expect(ask("/v1/responses", "websocket")).toBe("");
    expect(taken).toEqual(["/v1/responses"]);
  });

  test.each([
    ["/v1/responses", "WebSocket", true],
    ["/v1/responses?x=1", "websocket", true],
    ["/v1/responses/x", "websocket", false],
    ["/v1/models", "websocket", false],
    ["/v1/responses", "h2c", false],
  ])("%s by %s: %s", (url, upgrade, expected) => {
    const request = Object.assign(Object.create(null), { url, headers: { upgrade } });
    expect(isWebSocketUpgrade(request, PATHS)).toBe(expected);
  });
});

const WEB_SOCKET = [
  "Connection: Upgrade",
  "Upgrade: websocket",
  "Sec-WebSocket-Version: 13",
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
];

describe("a path", () => {
  test.each([
    "/v1/%2e%2e/metrics",
    "/v1/../metrics",
    "/v1/.%2E/metrics",
    "/v1/%2e/models",
    "/v1\\..\\metrics",
    "/v1/%5c..%5cmetrics",
    "/v1/models/..",
  ])("with a dot segment is refused: %s", async (path) => {
    const { origin } = await start({ metrics: "open" });
    const answer = await sendRaw(origin, [`GET ${path} HTTP/1.1`, HOST]);
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
  });

  test.each([
    ["/v1/%2e%2e/metrics", "", /\{"error":\{"code":"invalid_request",/],
    ["/v1/responses/../x", "", /\{"error":\{"message":"The path/],
    ["/v1/messages/../../x", "", /\{"type":"error","error":\{"type":"invalid_request_error",/],
    ["/v1/../x", "anthropic-version: 2023-06-01", /\{"type":"error",/],
    ["//[/..", "", /\{"error":\{"code":"invalid_request",/],
  ])("that is refused is answered in the form of its API: %s %s", async (path, header, form) => {
    const { origin } = await start();
    const lines = [`GET ${path} HTTP/1.1`, HOST, ...(header === "" ? [] : [header])];
    const answer = await sendRaw(origin, lines);
    expect(answer).toMatch(form);
    expect(answer).toContain(
      "The path of a request must not contain `.` or `..` segments, encoded or not. Send the path without them.",
    );
  });

  test.each(["/v1/models/openai%2Fgpt-oss-20b", "/v1/models?next=/../x", "/v1/models/a..b"])(
    "with dots elsewhere is not: %s",
    async (path) => {
      const { origin } = await start();
      const answer = await sendRaw(origin, [`GET ${path} HTTP/1.1`, HOST]);
      expect(answer).not.toContain("segments");
    },
  );
});

describe("the name in Host, without keys and on loopback", () => {
  test.each([
    "localhost",
    "localhost:8787",
    "app.localhost",
    "127.0.0.1:1",
    "[::1]:8787",
    "10.0.0.7",
  ])("%s is answered", async (host) => {
    const { origin } = await start();
    const answer = await sendRaw(origin, ["GET /v1/models HTTP/1.1", `Host: ${host}`]);
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
  });

  test.each([
    "evil.example",
    "evil.example:8787",
    "localhost.evil.example",
    "1.2.3.4.evil.example",
  ])("%s is refused, on a WebSocket too", async (host) => {
    const { origin } = await start();
    for (const lines of [[], WEB_SOCKET]) {
      const answer = await sendRaw(origin, [
        "GET /v1/responses HTTP/1.1",
        `Host: ${host}`,
        ...lines,
      ]);
      expect(answer).toMatch(/^HTTP\/1\.1 403 /);
    }
    const plain = await sendRaw(origin, ["GET /v1/models HTTP/1.1", `Host: ${host}`]);
    expect(plain).toContain(
      `The host name ${host.replace(/:\d+$/, "").toLowerCase()} is not allowed. To allow it, add it to the setting allowedHosts.`,
    );
  });

  test("an allowed name is answered, and any name if a key is required", async () => {
    const allowing = await start({ allowedHosts: ["box.lan"] });
    expect(await sendRaw(allowing.origin, ["GET /health HTTP/1.1", "Host: Box.lan:8787"])).toMatch(
      /^HTTP\/1\.1 200 /,
    );
    const keyed = await start({ keys: [`alice:${hash("sha256", "hg-1")}`] });
    expect(await sendRaw(keyed.origin, ["GET /health HTTP/1.1", "Host: any.example"])).toMatch(
      /^HTTP\/1\.1 200 /,
    );
  });
});

describe("a Host of which no URL can be made is refused, with and without keys", () => {
  const BODY = /\r\n\r\n(\{"error":\{|The gateway does not offer this upgrade)/;
  test.each([
    ...["256.1.1.1", "1.2.3.999", "08.1.1.1", "4294967296", "1.1.1.1.1", "foo.0x", "a.09"].map(
      (host) => [host, BODY] as const,
    ),
    // The adapter refuses these requests itself, and sends no body.
    ...["localhost:99999", "[::1", "[zz]", "a%zz", "a/b", "user@x", "127.0.0.1:x"].map(
      (host) => [host, /\r\n\r\n/] as const,
    ),
  ])("%s", async (host, body) => {
    for (const keys of [[], [`alice:${hash("sha256", "hg-1")}`]]) {
      const { origin, logged } = await start({ keys });
      for (const lines of [
        ["GET /v1/models HTTP/1.1"],
        ["GET /health HTTP/1.1"],
        ["POST /v1/chat/completions HTTP/1.1", "Content-Length: 0"],
        ["POST /v1/responses HTTP/1.1", "Content-Length: 0"],
        ["GET /v1/responses HTTP/1.1", ...WEB_SOCKET],
      ]) {
        const answer = await sendRaw(origin, [...lines, `Host: ${host}`, HG_1]);
        expect(answer).toMatch(/^HTTP\/1\.1 40[03] /);
        expect(answer).toMatch(body);
      }
      expect(logged.filter(({ level }) => level === "error")).toEqual([]);
    }
  });

  test("in the envelope of its API", async () => {
    const { origin } = await start();
    const answer = await sendRaw(origin, [
      "POST /v1/messages HTTP/1.1",
      "Content-Length: 0",
      "Host: 256.1.1.1",
    ]);
    expect(answer).toContain('{"type":"error","error":{"type":"invalid_request_error",');
    expect(answer).toContain(
      "The header Host does not name a host. Send the name or the IP address of the gateway, and its port.",
    );
  });
});
