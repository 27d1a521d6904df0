/** The clients of the load generator, with servers that close connections. */
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createRequest } from "./streaming/requests.ts";
import { Stream } from "./streaming/stream.ts";

const ANSWER = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n";

const sockets: Socket[] = [];
const server = createServer((socket) => sockets.push(socket));
let failures: string[] = [];
let stream: Stream;

beforeEach(async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});

afterEach(async () => {
  stream.leave();
  for (const socket of sockets.splice(0)) socket.destroy();
  server.close();
  await once(server, "close");
  vi.restoreAllMocks();
});

function connect(): { readonly ended: () => number } {
  const address = server.address();
  const port = typeof address === "object" ? (address?.port ?? 0) : 0;
  let ends = 0;
  failures = [];
  stream = new Stream(
    {
      target: { name: "peer", port, headers: {} },
      wire: "chat",
      request: createRequest("chat"),
      readsWords: false,
    },
    {
      onWords: () => {},
      onEnd: () => ends++,
      onFailure: (reason) => failures.push(reason),
    },
  );
  return { ended: () => ends };
}

/** Sends a request, and answers it on the connection with this number. */
async function exchange(connection: number, ended: () => number): Promise<void> {
  const before = ended();
  stream.ask(createRequest("chat"));
  await expect.poll(() => sockets[connection]).toBeDefined();
  const socket = sockets[connection];
  await once(socket!, "data");
  socket?.write(ANSWER);
  await expect.poll(ended).toBe(before + 1);
}

test("a connection is used again, but not one that was idle for seconds, which its server may just be closing", async () => {
  const { ended } = connect();
  expect(sockets).toHaveLength(0);
  await exchange(0, ended);
  await exchange(0, ended);
  const now = process.hrtime.bigint();
  vi.spyOn(process.hrtime, "bigint").mockReturnValue(now + 5_000_000_000n);
  await exchange(1, ended);
  expect(failures).toEqual([]);
});

test("a connection that the server closes between two requests is replaced", async () => {
  const { ended } = connect();
  await exchange(0, ended);
  sockets[0]?.end();
  await once(sockets[0]!, "close");
  await exchange(1, ended);
  expect(failures).toEqual([]);
});

test("a connection that is lost before the answer is a failure of that contender", async () => {
  connect();
  stream.ask(createRequest("chat"));
  await expect.poll(() => sockets.length).toBe(1);
  await once(sockets[0]!, "data");
  sockets[0]?.end();
  await expect.poll(() => failures).toHaveLength(1);
  expect(failures[0]).toMatch(/^peer: the server ended the connection, \d+ ms after a request$/);
});
