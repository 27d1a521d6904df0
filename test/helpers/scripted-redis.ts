/**
 * A server of Redis' protocol, controlled by a test or a phase of chaos: it answers, stays silent, refuses or sends
 * unrequested data. A real Redis does none of this on request.
 */
import { createServer, type Socket } from "node:net";
import { listenAnywhere } from "./listen.ts";

export interface ScriptedRedis {
  readonly url: string;
  /** The stored values, by key. */
  readonly values: Map<string, string>;
  /** Connections that were opened so far. */
  readonly opened: number;
  /** Connections that are open. */
  readonly open: number;
  /** The commands received so far. */
  readonly commands: readonly (readonly string[])[];
  /**
   * The bytes of the answer; undefined for none at all. `carryOut` executes the command and returns the right answer,
   * which is the default. `connection` counts from 1.
   */
  answer: (
    command: readonly string[],
    carryOut: () => string,
    connection: number,
  ) => string | undefined | Promise<string | undefined>;
  /** Sends unrequested bytes on all connections. */
  send(bytes: string): void;
  /** Closes all connections. */
  hangUp(): void;
  close(): Promise<void>;
}

export async function startScriptedRedis(): Promise<ScriptedRedis> {
  const sockets = new Set<Socket>();
  const values = new Map<string, string>();
  const commands: string[][] = [];
  let opened = 0;
  const server = createServer((socket) => {
    const connection = ++opened;
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => {});
    let rest = Buffer.alloc(0);
    let last = Promise.resolve();
    async function sendAfter(before: Promise<void>, bytes: ReturnType<ScriptedRedis["answer"]>) {
      await before;
      const sent = await bytes;
      if (sent !== undefined && !socket.destroyed) socket.write(sent);
    }
    socket.on("data", (chunk: Buffer) => {
      rest = Buffer.concat([rest, chunk]);
      for (;;) {
        const read = readCommand(rest);
        if (read === undefined) return;
        rest = rest.subarray(read.length);
        commands.push(read.command);
        const bytes = redis.answer(read.command, () => respond(values, read.command), connection);
        last = sendAfter(last, bytes);
      }
    });
  });
  const port = await listenAnywhere(server);
  const redis: ScriptedRedis = {
    url: `redis://127.0.0.1:${port}`,
    values,
    commands,
    get opened() {
      return opened;
    },
    get open() {
      return sockets.size;
    },
    answer: (_, carryOut) => carryOut(),
    send(bytes) {
      for (const socket of sockets) socket.write(bytes);
    },
    hangUp() {
      for (const socket of sockets) socket.destroy();
    },
    async close() {
      redis.hangUp();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
  return redis;
}

export function toBulk(text: string): string {
  return `$${Buffer.byteLength(text)}\r\n${text}\r\n`;
}

export const NIL = "$-1\r\n";

function respond(values: Map<string, string>, [name = "", key = "", value = ""]: string[]): string {
  switch (name.toUpperCase()) {
    case "GET": {
      const found = values.get(key);
      return found === undefined ? NIL : toBulk(found);
    }
    case "SET":
      values.set(key, value);
      return "+OK\r\n";
    case "DEL":
    case "UNLINK":
      return `:${values.delete(key) ? 1 : 0}\r\n`;
    case "INFO":
      return toBulk("redis_version:7.0.0\r\nloading:0\r\n");
    default:
      return "+OK\r\n";
  }
}

/** An array of bulk strings, as clients send commands. Undefined: it is not complete yet. */
function readCommand(bytes: Buffer): { command: string[]; length: number } | undefined {
  let at = 0;
  const line = (): string | undefined => {
    const end = bytes.indexOf("\r\n", at);
    if (end === -1) return undefined;
    const text = bytes.toString("latin1", at, end);
    at = end + 2;
    return text;
  };
  const head = line();
  if (head === undefined) return undefined;
  const command: string[] = [];
  for (let part = 0; part < Number(head.slice(1)); part++) {
    const size = line();
    if (size === undefined) return undefined;
    const length = Number(size.slice(1));
    if (bytes.length < at + length + 2) return undefined;
    command.push(bytes.toString("utf8", at, at + length));
    at += length + 2;
  }
  return { command, length: at };
}
