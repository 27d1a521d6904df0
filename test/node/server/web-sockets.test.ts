import { EventEmitter } from "node:events";
import { WebSocket } from "ws";
import { expect, test } from "vitest";
import { answerPings } from "../../../src/node/server/web-sockets.ts";

test("pings are answered one after the other, and only the last of several that wait", () => {
  const pongs: string[] = [];
  let sent: (() => void) | undefined;
  const state: { readyState: number } = { readyState: WebSocket.OPEN };
  const socket = Object.assign(new EventEmitter(), state, {
    OPEN: WebSocket.OPEN,
    pong(data: Buffer, _: boolean, done: () => void) {
      pongs.push(String(data));
      sent = done;
    },
  });
  answerPings(socket);
  const ping = (data: string) => socket.emit("ping", Buffer.from(data));
  ping("first");
  for (let count = 0; count < 10_000; count++) ping(`${count}`);
  expect(pongs).toEqual(["first"]);
  sent?.();
  expect(pongs).toEqual(["first", "9999"]);
  sent?.();
  ping("next");
  expect(pongs).toEqual(["first", "9999", "next"]);
  ping("too late");
  socket.readyState = WebSocket.CLOSING;
  sent?.();
  expect(pongs).toEqual(["first", "9999", "next"]);
});
