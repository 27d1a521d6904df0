/** WebSockets below the messages: floods of frames from clients that read nothing, and handshakes that fail. */
import { once } from "node:events";
import type { Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import type { Random } from "../fuzz/random.ts";
import type { Asking } from "./asking.ts";
import { handshake, sendHead } from "./clients.ts";
import { expectQuiet, notWhole, onStage, type Phase, type Stage, tell } from "./phase.ts";

export interface FloodSize {
  /** Number of frames of each kind. */
  readonly frames: number;
  readonly handshakes: number;
}

export const framesPhase: Phase = {
  name: "frames",
  says: "floods of frames from WebSockets that read nothing, and failing handshakes, take no memory",
  run: (random) =>
    onStage({ engines: 1 }, (stage) =>
      floodSockets(stage, random, { frames: 300_000, handshakes: 5_500 }),
    ),
};

const MAX_GROWTH_MB = 20;

export async function floodSockets(
  stage: Stage,
  random: Random,
  { frames, handshakes }: FloodSize,
): Promise<string> {
  // A first request is sent before the measurement, because first requests load modules.
  const first = await Promise.all(
    (["socket", "chat"] as const).map((kind) => stage.ask(kind, "a")),
  );
  stage.expect(notWhole(first).length === 0, `first: ${tell(notWhole(first))}`);
  const byFrames = await measureGrowth(stage, async (look) => {
    for (const frame of FRAMES) {
      const sockets = await sendFrames(stage.next("a"), frame, frames, random);
      // While they are open, with all that waits for them.
      await look();
      for (const socket of sockets) socket.destroy();
    }
  });
  const byHandshakes = await measureGrowth(stage, () =>
    failHandshakes(stage.next("a"), handshakes, random),
  );
  const others = await Promise.all([1, 2, 3].map(() => stage.ask("socket", "b")));
  stage.expect(notWhole(others).length === 0, `others: ${tell(notWhole(others))}`);
  await expectQuiet(stage);
  await expectReleased(stage);
  return `${FRAMES.length} × ${frames} frames: ${byFrames} MB more, ${handshakes} handshakes: ${byHandshakes} MB more`;
}

/**
 * In MB: how much more the gateway holds at most, when looked at. Not its resident memory, most of which is what V8 has not
 * given back yet.
 */
async function measureGrowth(
  stage: Stage,
  attack: (look: () => Promise<void>) => Promise<void>,
): Promise<number> {
  const held = async () => {
    const { heapBytes, externalBytes } = await stage.gateway.sample();
    return heapBytes + externalBytes;
  };
  const before = await held();
  let most = 0;
  const look = async () => {
    most = Math.max(most, await held());
  };
  await attack(look);
  await look();
  const megabytes = Math.round((most - before) / 1_048_576);
  stage.expect(megabytes < MAX_GROWTH_MB, `${megabytes} MB more are held`);
  return megabytes;
}

/** Frames of closed sockets that had been read already are still gone through. */
async function expectReleased(stage: Stage): Promise<void> {
  let held: Readonly<Record<string, number>> = {};
  for (let tries = 0; tries < 60; tries++) {
    held = (await stage.gateway.sample()).resources;
    // A timer for each connection that checks the gateway's health, and for its own use.
    if ((held["Timeout"] ?? 0) < 5 && (held["TCPSocketWrap"] ?? 0) < 5) return;
    await pause(500);
  }
  stage.expect(false, `not released: ${JSON.stringify(held)}`);
}

/** The frame with a number of a connection. */
type Frame = (random: Random, number: number) => Buffer;

const FIN = 0x80;
const OPCODES = { continuation: 0, text: 1, binary: 2, ping: 9, pong: 10 };

const FRAMES: readonly Frame[] = [
  (random) => toFrame(FIN + OPCODES.binary, randomText(random, 4)),
  (random) => toFrame(FIN + OPCODES.ping, randomText(random, 125)),
  (random) => toFrame(FIN + OPCODES.pong, randomText(random, 125)),
  // A message without end.
  (_, number) => toFrame(number === 0 ? OPCODES.text : OPCODES.continuation, "a"),
  (random) => toFrame(FIN + OPCODES.text, randomText(random, 4)),
  () => toFrame(FIN + OPCODES.text, '{"type":"hint"}'),
];

function randomText(random: Random, maxLength: number): string {
  return "x".repeat(random.below(maxLength + 1));
}

/** A frame of at most 125 bytes, masked with zeros. */
function toFrame(firstByte: number, payload: string): Buffer {
  const head = Buffer.from([firstByte, 0x80 + payload.length, 0, 0, 0, 0]);
  return Buffer.concat([head, Buffer.from(payload)]);
}

/** Frames of one connection, unless it is ended before. */
const FRAMES_A_SOCKET = 20_000;

/** Over one connection after another. The client reads nothing. Returns the connections, some of which the gateway has ended. */
async function sendFrames(
  asking: Asking,
  frame: Frame,
  count: number,
  random: Random,
): Promise<Socket[]> {
  const sockets: Socket[] = [];
  for (let sent = 0; sent < count;) {
    const { socket } = await sendHead(asking.origin, handshake(asking));
    socket.pause();
    const share = Math.min(FRAMES_A_SOCKET, count - sent);
    for (let n = 0; n < share && !socket.destroyed; n += 1000) {
      const batch = Buffer.concat(Array.from({ length: 1000 }, (_, k) => frame(random, n + k)));
      // Whatever comes first: the gateway does not read a client that has sent more than enough.
      if (!socket.write(batch))
        await Promise.race([once(socket, "drain").catch(() => {}), pause(20)]);
    }
    sent += share;
    sockets.push(socket);
  }
  return sockets;
}

const AT_ONCE = 50;

async function failHandshakes(asking: Asking, count: number, random: Random): Promise<void> {
  const lines = handshake(asking);
  const fail = () =>
    sendHead(asking.origin, [...lines.slice(0, 5), ...random.pick(WRONG_HANDSHAKES)]);
  for (let done = 0; done < count; done += AT_ONCE) {
    const failed = await Promise.all(Array.from({ length: AT_ONCE }, fail));
    for (const { socket } of failed) socket.destroy();
  }
}

const WRONG_HANDSHAKES = [
  ["sec-websocket-version: 13", "sec-websocket-key: short"],
  ["sec-websocket-version: 13"],
  ["sec-websocket-version: 12", `sec-websocket-key: ${"A".repeat(22)}==`],
];
