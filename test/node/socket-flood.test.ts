import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { expect, test } from "vitest";
import { WebSocket } from "ws";
import { createEngine, type Engine } from "../../src/index.ts";
import { eventually } from "../helpers/eventually.ts";
import { startTestGateway } from "../helpers/gateway.ts";

/** Hashes of the keys `a` and `b`. */
const SHA256_OF_A = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb";
const SHA256_OF_B = "3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d";

const MESSAGES = 12;
const BYTES = 3_000_000;

/** An engine that answers no request before it is released. */
function heldEngine(go: Promise<void>): Engine {
  const engine = createEngine("demo", { model: "demo" });
  return {
    ...engine,
    async *complete(request, signal) {
      await go;
      yield* engine.complete(request, signal);
    },
  };
}

test("messages sent ahead on one socket wait at the client, not in the gateway", async () => {
  const go = Promise.withResolvers<void>();
  const gateway = await startTestGateway({
    engine: heldEngine(go.promise),
    settings: { maxBodyBytes: BYTES + 1_000 },
  });
  const socket = new WebSocket(`${gateway.baseURL.replace("http", "ws")}/responses`);
  try {
    await once(socket, "open");
    const ends: string[] = [];
    const all = Promise.withResolvers<void>();
    socket.on("message", (data: Buffer) => {
      const { type } = JSON.parse(data.toString("utf8"));
      if (type !== "response.completed" && type !== "error") return;
      ends.push(type);
      if (ends.length === MESSAGES) all.resolve();
    });
    const strays = "x".repeat(BYTES);
    const create = { type: "response.create", model: "openai/gpt-oss-20b", input: "Hi" };
    const message = JSON.stringify({ ...create, store: false, strays });
    for (let n = 0; n < MESSAGES; n += 1) socket.send(message);
    // In this time the gateway would read all messages if it did not stop reading.
    for (let n = 0; n < 100; n += 1) {
      expect((await fetch(`${gateway.origin}/health`)).status).toBe(200);
    }
    // One message is being answered, two wait, one is read in part, and the system's buffers hold some.
    expect(socket.bufferedAmount).toBeGreaterThan(((MESSAGES - 4) / 2) * BYTES);
    go.resolve();
    await all.promise;
    expect(ends).toEqual(Array(MESSAGES).fill("response.completed"));
  } finally {
    socket.terminate();
    await gateway.close();
  }
});

test("a key's limit of sockets does not depend on other keys", async () => {
  const gateway = await startTestGateway({
    settings: {
      keys: [`a:${SHA256_OF_A}`, { name: "b", sha256: SHA256_OF_B, maxSocketsPerKey: 1 }],
      maxSocketsPerKey: 2,
    },
  });
  const sockets: WebSocket[] = [];
  /** Resolves with the status of the upgrade. */
  const open = async (key: string) => {
    const socket = new WebSocket(`${gateway.baseURL.replace("http", "ws")}/responses`, {
      headers: { authorization: `Bearer ${key}` },
    });
    sockets.push(socket);
    const refused = once(socket, "unexpected-response").then(([, { statusCode }]) => statusCode);
    return Promise.race([once(socket, "open").then(() => 101), refused]);
  };
  try {
    expect([await open("a"), await open("a"), await open("a")]).toEqual([101, 101, 429]);
    expect([await open("b"), await open("b")]).toEqual([101, 429]);
    sockets[0]?.close();
    await eventually(async () => expect(await open("a")).toBe(101));
  } finally {
    for (const socket of sockets) socket.terminate();
    await gateway.close();
  }
});

/** A connection on which the test writes frames itself after the handshake. */
async function upgrade(origin: string, headers: readonly string[]): Promise<Socket> {
  const { port, hostname } = new URL(origin);
  const socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true });
  socket.on("error", () => {});
  const head = ["GET /v1/responses HTTP/1.1", "Host: localhost", "Connection: Upgrade", ...headers];
  socket.write(`${head.join("\r\n")}\r\nUpgrade: websocket\r\n\r\n`);
  return socket;
}

const HANDSHAKE = ["Sec-WebSocket-Version: 13", `Sec-WebSocket-Key: ${"A".repeat(22)}==`];

test.each([
  ["by a bad key of the handshake", HANDSHAKE.slice(0, 1), "400"],
  ["without a key of the gateway", HANDSHAKE, "401"],
])("a connection whose upgrade is refused %s is closed on both sides", async (_, lines, status) => {
  const gateway = await startTestGateway({ settings: { keys: [`a:${SHA256_OF_A}`] } });
  try {
    const headers = status === "400" ? [...lines, "Authorization: Bearer a"] : lines;
    const socket = await upgrade(gateway.origin, headers);
    let answer = "";
    socket.on("data", (data) => (answer += String(data)));
    await once(socket, "end");
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    // The client keeps its own side open. A write fails as soon as the gateway has closed the connection.
    const failed = new Promise((resolve) => {
      socket.once("error", resolve);
    });
    const writing = setInterval(() => socket.write("still here"), 5);
    await failed;
    clearInterval(writing);
  } finally {
    await gateway.close();
  }
});
