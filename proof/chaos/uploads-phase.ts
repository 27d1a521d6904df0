/** Bodies that are never complete: large ones that stop, and ones that arrive byte by byte. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import type { Random } from "../fuzz/random.ts";
import type { Asking } from "./asking.ts";
import { anyKind, expectQuiet, notWhole, onStage, type Phase, type Stage, tell } from "./phase.ts";

export const uploadsPhase: Phase = {
  name: "uploads",
  says: "half uploads and slow bodies of one tenant take no memory, and others are served",
  run: (random) =>
    onStage({ engines: 2, settings: { maxBodyBytes: MAX_BODY_BYTES } }, (stage) =>
      uploadHalves(stage, random),
    ),
};

const MAX_BODY_BYTES = 32_000_000;
/** Number of uploads of each kind. */
const UPLOADS = 12;
/** One tenant's bodies may hold `maxBodyBytes` together. The rest is data that the runtime reads ahead. */
const MAX_GROWTH_MB = 60;

async function uploadHalves(stage: Stage, random: Random): Promise<string> {
  // A first request is sent before the measurement, because first requests load modules.
  await stage.ask("chat", "a");
  const before = await heldMegabytes(stage);
  const sockets = Array.from({ length: UPLOADS }, () => [
    sendLarge(stage.next("a"), true),
    sendLarge(stage.next("a"), false),
    sendSlowly(stage.next("a")),
  ]).flat();
  const others = await Promise.all(
    Array.from({ length: 40 }, () => stage.ask(anyKind(random), "b")),
  );
  const failed = notWhole(others);
  stage.expect(failed.length === 0, `others: ${tell(failed)}`);
  const growth = (await heldMegabytes(stage)) - before;
  stage.expect(growth < MAX_GROWTH_MB, `${growth} MB more are held`);
  for (const socket of sockets) socket.destroy();
  // The tenant has its room back.
  const large = await stage.ask("chat", "a", "x".repeat(200_000));
  stage.expect(notWhole([large]).length === 0, `afterwards: ${tell([large])}`);
  await expectQuiet(stage);
  const rest = (await heldMegabytes(stage)) - before;
  stage.expect(rest < MAX_GROWTH_MB / 4, `${rest} MB are held after the end`);
  return `${sockets.length} unfinished uploads: ${growth} MB more, ${rest} MB afterwards`;
}

/** Held memory, instead of resident memory, most of which V8 and the allocator have not returned yet. */
async function heldMegabytes(stage: Stage): Promise<number> {
  const { heapBytes, externalBytes } = await stage.gateway.sample();
  return Math.round((heapBytes + externalBytes) / 1_048_576);
}

function open({ origin, key }: Asking, framing: string): Socket {
  const socket = connect(Number(new URL(origin).port), "127.0.0.1");
  socket.on("error", () => {});
  socket.resume();
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${key}\r\n${framing}\r\n\r\n`,
  );
  return socket;
}

/** Sends most of a body, as fast as it is read, and then nothing more. */
function sendLarge(asking: Asking, isAnnounced: boolean): Socket {
  const bytes = MAX_BODY_BYTES - 1;
  const socket = open(
    asking,
    isAnnounced ? `content-length: ${bytes}` : "transfer-encoding: chunked",
  );
  const piece = Buffer.alloc(65_536, " ");
  const chunk = Buffer.concat([Buffer.from("10000\r\n"), piece, Buffer.from("\r\n")]);
  const send = async () => {
    const closed = once(socket, "close");
    for (let sent = piece.length; sent < bytes && !socket.destroyed; sent += piece.length) {
      const hasRoom = socket.write(isAnnounced ? piece : chunk);
      if (!hasRoom) await Promise.race([once(socket, "drain"), closed]);
    }
  };
  void send().catch(() => {});
  return socket;
}

/** Sends a body byte by byte. */
function sendSlowly(asking: Asking): Socket {
  const socket = open(asking, "content-length: 1000000");
  const send = async () => {
    while (!socket.destroyed) {
      socket.write(" ");
      await pause(50);
    }
  };
  void send();
  return socket;
}
