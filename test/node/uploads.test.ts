import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { expect, test } from "vitest";
import { WebSocket } from "ws";
import { eventually } from "../helpers/eventually.ts";
import { startTestGateway } from "../helpers/gateway.ts";

const MAX = 1_000_000;

/** Sends a request whose body lacks its last byte. Answers are added to `answers`. */
function upload(origin: string, length: number, head: string, answers: string[]): Socket {
  const { port, hostname } = new URL(origin);
  const socket = connect(Number(port), hostname);
  socket.on("error", () => {});
  socket.on("data", (data) => answers.push(String(data)));
  socket.write(`POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n${head}\r\n\r\n`);
  socket.write(Buffer.alloc(length, " "));
  return socket;
}

test("unfinished bodies without a length are refused where there is no room, until others have ended", async () => {
  const gateway = await startTestGateway({ settings: { maxBodyBytes: MAX } });
  const chunk = 600_000;
  const head = `Transfer-Encoding: chunked\r\n\r\n${(chunk + 2).toString(16)}`;
  const answers: string[] = [];
  const sockets = [upload(gateway.origin, chunk, head, answers)];
  const post = (pad: number) =>
    fetch(`${gateway.baseURL}/chat/completions`, {
      method: "POST",
      body: new Blob([
        JSON.stringify({ messages: [{ role: "user", content: "Hi" }], pad: "x".repeat(pad) }),
      ]).stream(),
      duplex: "half",
    });
  try {
    await eventually(async () => {
      // The gateway reads both requests in turn: while it reads both, either may be refused, or both.
      if (answers.splice(0).length > 0) sockets.push(upload(gateway.origin, chunk, head, answers));
      expect((await post(0)).status).toBe(200);
      const refused = await post(chunk);
      expect(refused.status).toBe(429);
      expect(refused.headers.get("retry-after")).toBe("1");
      expect(await refused.json()).toMatchObject({
        error: {
          message:
            "The gateway is receiving requests of this key with more than 1000000 bytes together. Send fewer at a time.",
        },
      });
    });
    for (const socket of sockets) socket.destroy();
    await eventually(async () => expect((await post(chunk)).status).toBe(200));
  } finally {
    for (const socket of sockets) socket.destroy();
    await gateway.close();
  }
});

test("a large body waits for one that is being received, and is served when that has ended", async () => {
  const gateway = await startTestGateway({ settings: { maxBodyBytes: MAX } });
  const answers: string[] = [];
  const socket = upload(gateway.origin, 700_000, "Content-Length: 900000", answers);
  try {
    const content = "x".repeat(200_000);
    const waiting = fetch(`${gateway.baseURL}/chat/completions`, {
      method: "POST",
      body: JSON.stringify({ messages: [{ role: "user", content }], max_tokens: 1 }),
    });
    let isAnswered = false;
    void waiting.then(() => (isAnswered = true));
    // The first request has arrived before the second, so it holds its share.
    for (let n = 0; n < 20; n++) expect((await fetch(`${gateway.origin}/health`)).status).toBe(200);
    expect(isAnswered).toBe(false);
    socket.destroy();
    expect((await waiting).status).toBeLessThan(429);
  } finally {
    socket.destroy();
    await gateway.close();
  }
});

test("unfinished messages of WebSockets are bounded together", async () => {
  const gateway = await startTestGateway({ settings: { maxBodyBytes: MAX } });
  const sockets: WebSocket[] = [];
  const open = async () => {
    const socket = new WebSocket(`${gateway.baseURL.replace("http", "ws")}/responses`);
    sockets.push(socket);
    await once(socket, "open");
    return socket;
  };
  try {
    const [first, second] = [await open(), await open()];
    const closed = Promise.race([first, second].map((socket) => once(socket, "close")));
    for (const socket of [first, second]) socket.send("x".repeat(600_000), { fin: false });
    const [code, reason] = await closed;
    expect([code, String(reason)]).toEqual([1013, "Too many bytes are being received."]);
  } finally {
    for (const socket of sockets) socket.terminate();
    await gateway.close();
  }
});
