import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { hasStalled, LOOKS, type ReadProgress } from "../../../src/node/server/listen.ts";
import { eventually } from "../../helpers/eventually.ts";

/** Bytes that exceed the buffers of the system. */
const BYTES = 64_000_000;

/** Both ends of a connection; the client reads nothing yet. */
async function connectPair(): Promise<{ readonly client: Socket; readonly served: Socket }> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const client = connect(port, "127.0.0.1").pause();
  const [served]: Socket[] = await once(server, "connection");
  if (served === undefined) throw new Error("no connection was accepted");
  onTestFinished(() => {
    client.destroy();
    served.destroy();
    server.close();
  });
  return { client, served };
}

/** Returns the number of looks after which the client counts as stalled. */
function countLooks(served: Socket, progress: ReadProgress = { sent: 0, unreadLooks: 0 }): number {
  for (let looks = 1; looks < 100; looks++) if (hasStalled(served, progress)) return looks;
  return Infinity;
}

/** Writes more than the client takes, and looks until the next look finds the client stalled. */
async function fill(served: Socket): Promise<ReadProgress> {
  served.write(Buffer.alloc(BYTES));
  // The buffers of the system grow for a while.
  await eventually(() => expect(countLooks(served)).toBe(LOOKS + 1));
  const progress = { sent: 0, unreadLooks: 0 };
  countLooks(served, progress);
  return { ...progress, unreadLooks: LOOKS - 1 };
}

test("a client that reads nothing stalls after the looks it may read nothing, and one more", async () => {
  const { served } = await connectPair();
  expect(hasStalled(served, await fill(served))).toBe(true);
});

test("a client has read something when part of a single write has left", async () => {
  const { client, served } = await connectPair();
  const progress = await fill(served);
  client.on("data", () => client.pause());
  await eventually(() => {
    client.resume();
    expect(hasStalled(served, { ...progress })).toBe(false);
  });
  expect(served.writableLength).toBe(BYTES);
});

test("newly written data is no sign of reading", async () => {
  const { served } = await connectPair();
  const progress = await fill(served);
  served.write("\u00e9".repeat(1000));
  expect(hasStalled(served, progress)).toBe(true);
});

test("a client to which nothing is unsent never stalls", async () => {
  const { served } = await connectPair();
  expect(countLooks(served)).toBe(Infinity);
});
