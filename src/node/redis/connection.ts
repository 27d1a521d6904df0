/**
 * A connection to Redis. Commands are sent in order, and replies arrive in the same order, so any fault (a reply without a
 * command, a malformed reply, silence) drops the connection: no later reply could be attributed.
 *
 * Client libraries are not used: they attribute a surplus reply to the next command, read replies of any size and depth, and
 * throw errors that cannot be caught.
 */
import { connect as connectTcp, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { StoreRefusal } from "../../store/store-error.ts";
import type { RedisAddress } from "./address.ts";
import { ProtocolFault, type Reply, ReplyReader } from "./reply-reader.ts";

/** The connection ended before a command was answered. Whether the command had an effect is unknown. */
export class ConnectionLost extends Error {
  constructor(cause: unknown) {
    super("the connection was lost", { cause });
    this.name = "ConnectionLost";
  }
}

export interface ConnectionOptions {
  /** Timeout until the connection is open and authenticated. */
  readonly connectMs: number;
  /** Maximum time without a complete reply while one is due. After it, the connection is dropped. */
  readonly silentMs: number;
  /** Maximum bytes of a value. */
  readonly maxReplyBytes: number;
  /** Called once, when the connection is lost. */
  readonly onLost: () => void;
}

/** Opens a connection. Rejects with a {@link ConnectionLost}. */
export async function openConnection(
  address: RedisAddress,
  options: ConnectionOptions,
): Promise<RedisConnection> {
  const { host, port, tls, username, password, database } = address;
  const socket = tls
    ? connectTls({ host, port, ...(isIP(host) === 0 && { servername: host }) })
    : connectTcp({ host, port });
  const connection = new RedisConnection(socket, options);
  const timer = setTimeout(
    () => connection.drop(new Error("connection timed out")),
    options.connectMs,
  );
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once(tls ? "secureConnect" : "connect", resolve);
      socket.once("close", () => reject(new ConnectionLost(connection.lostBy)));
    });
    if (password !== "") {
      await connection.ask(["AUTH", ...(username === "" ? [] : [username]), password], expectOk);
    }
    if (database !== "") await connection.ask(["SELECT", database], expectOk);
  } catch (error) {
    connection.drop(error);
    throw error instanceof ConnectionLost ? error : new ConnectionLost(error);
  } finally {
    clearTimeout(timer);
  }
  return connection;
}

/** Checks the reply of a command whose only success is `OK`. */
export function expectOk(reply: Reply): true {
  if (reply.type !== "status" || reply.text !== "OK") throw new ProtocolFault();
  return true;
}

interface Pending {
  /** Receives the reply. An exception ends the connection. */
  take(reply: Reply): void;
  fail(error: Error): void;
}

/** Commands waiting for a reply, and bytes waiting to be sent, above which a command is refused. */
const MAX_PENDING = 10_000;
const MAX_UNSENT_BYTES = 64 * 1024 * 1024;

const KEEP_ALIVE_MS = 30_000;

export class RedisConnection {
  readonly #socket: Socket;
  readonly #options: ConnectionOptions;
  readonly #pending: Pending[] = [];
  #silence: NodeJS.Timeout | undefined;
  #lostBy: unknown;
  #isLost = false;

  constructor(socket: Socket, options: ConnectionOptions) {
    this.#socket = socket;
    this.#options = options;
    const reader = new ReplyReader(options.maxReplyBytes, (reply) => this.#onReply(reply));
    socket.setNoDelay(true).setKeepAlive(true, KEEP_ALIVE_MS);
    socket.on("data", (chunk: Buffer) => {
      // Ignores data that was read before the connection was dropped.
      if (this.#isLost) return;
      try {
        reader.push(chunk);
      } catch (error) {
        this.drop(error);
      }
    });
    socket.on("error", (error) => this.drop(error));
    socket.on("close", () => this.drop(new Error("connection closed")));
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  /** The cause of the loss. */
  get lostBy(): unknown {
    return this.#lostBy;
  }

  /**
   * Sends a command. `read` is called synchronously with the reply, except for an error; a {@link ProtocolFault} that it throws
   * drops the connection. Rejects with a {@link ConnectionLost} or a {@link StoreRefusal}.
   */
  ask<T>(command: readonly string[], read: (reply: Reply) => T): Promise<T> {
    if (this.#isLost) return Promise.reject(new ConnectionLost(this.#lostBy));
    if (this.#pending.length >= MAX_PENDING || this.#socket.writableLength > MAX_UNSENT_BYTES) {
      return Promise.reject(new Error("too many operations are waiting for it"));
    }
    const answered = new Promise<T>((resolve, reject) => {
      this.#pending.push({
        take(reply) {
          if (reply.type === "error") return reject(toRefusal(reply.text));
          try {
            resolve(read(reply));
          } catch (error) {
            reject(error instanceof ProtocolFault ? new ConnectionLost(error) : error);
            throw error;
          }
        },
        fail: reject,
      });
    });
    this.#silence ??= setTimeout(() => this.drop(new Error("no answer")), this.#options.silentMs);
    this.#socket.write(encodeCommand(command));
    return answered;
  }

  /** Closes the connection at once. Commands without a reply reject. */
  drop(cause: unknown): void {
    if (this.#isLost) return;
    this.#isLost = true;
    this.#lostBy = cause;
    clearTimeout(this.#silence);
    this.#socket.destroy();
    this.#options.onLost();
    const lost = new ConnectionLost(cause);
    for (const each of this.#pending.splice(0)) each.fail(lost);
  }

  #onReply(reply: Reply): void {
    const oldest = this.#pending.shift();
    if (oldest === undefined) throw new ProtocolFault();
    if (this.#pending.length > 0) this.#silence?.refresh();
    else {
      clearTimeout(this.#silence);
      this.#silence = undefined;
    }
    oldest.take(reply);
  }
}

function encodeCommand(command: readonly string[]): string {
  let text = `*${command.length}\r\n`;
  for (const part of command) text += `$${Buffer.byteLength(part)}\r\n${part}\r\n`;
  return text;
}

/**
 * Keeps only the beginning of the text, up to the first punctuation: some errors quote the command, and with it prompts or a
 * password.
 */
function toRefusal(text: string): StoreRefusal {
  const [said = ""] = /^[\w .-]{0,100}/.exec(text) ?? [];
  const [code = ""] = said.split(" ", 1);
  return new StoreRefusal(code, said.replace(/[ .]+$/, ""));
}
