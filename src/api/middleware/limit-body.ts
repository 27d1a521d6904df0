/** Receives request bodies, and refuses bodies that are too large or exceed the budget. */
import type { Context, MiddlewareHandler, Next } from "hono";
import type { ApiEnv } from "../request/client.ts";
import { RequestError } from "../errors.ts";
import { UNCOUNTED_BYTES, type ByteBudget, type ByteLease } from "../request/byte-budget.ts";

/**
 * A larger body fails with a {@link RequestError} of status 413. Large bodies are received here, within the budget. The
 * stream of a body with `content-length` is not touched, because this would make reading it slow on Node.
 */
export function limitBody(maxBytes: number, uploads: ByteBudget): MiddlewareHandler<ApiEnv> {
  return (c, next) => {
    const announced = c.req.header("content-length");
    if (announced === undefined || c.req.header("transfer-encoding") !== undefined) {
      return receiveUnannounced(c, next);
    }
    const length = Number(announced);
    if (length > maxBytes) throw tooLarge(maxBytes);
    return length > UNCOUNTED_BYTES ? receiveLarge(c, length, next) : next();
  };

  async function receiveLarge(c: Context<ApiEnv>, length: number, next: Next): Promise<void> {
    const lease = await uploads.reserve(c.get("client").tenant, length, c.req.raw);
    // Hono caches the body for the route.
    await receive(lease, () => c.req.arrayBuffer());
    await next();
  }

  async function receiveUnannounced(c: Context<ApiEnv>, next: Next): Promise<void> {
    const { body } = c.req.raw;
    if (body !== null) {
      const lease = uploads.open(c.get("client").tenant);
      await receive(lease, () => readUnannounced(c, body, lease, maxBytes));
    }
    await next();
  }
}

async function receive(lease: ByteLease, read: () => Promise<unknown>): Promise<void> {
  try {
    await read();
  } finally {
    lease.release();
  }
}

/** Collects blocks, then joins them: a client can send tiny parts, and each would take a hundred bytes. */
async function readUnannounced(
  c: Context<ApiEnv>,
  body: ReadableStream<Uint8Array>,
  lease: ByteLease,
  maxBytes: number,
): Promise<void> {
  const blocks: Uint8Array[] = [];
  /** The free part of the last block. */
  let room = new Uint8Array(0);
  let length = 0;
  for await (const part of body) {
    length += part.length;
    if (length > maxBytes) throw tooLarge(maxBytes);
    for (let rest = part; rest.length > 0;) {
      if (room.length === 0) {
        room = new Uint8Array(UNCOUNTED_BYTES);
        if (blocks.push(room) > 1) lease.resize(blocks.length * UNCOUNTED_BYTES);
      }
      const taken = rest.subarray(0, room.length);
      room.set(taken);
      room = room.subarray(taken.length);
      rest = rest.subarray(taken.length);
    }
  }
  const { method, raw } = c.req;
  c.req.raw = new Request(raw, { method, body: join(blocks, length) });
}

function join(blocks: Uint8Array[], length: number): Uint8Array<ArrayBuffer> {
  const joined = new Uint8Array(length);
  for (let at = 0; at < length; at += UNCOUNTED_BYTES) {
    const block = blocks.shift() ?? joined;
    joined.set(block.subarray(0, length - at), at);
  }
  return joined;
}

/** `32 MB`, or exactly: limits are powers of two or round numbers. */
export function toSize(bytes: number): string {
  const mebibytes = bytes / 1024 ** 2;
  if (Number.isInteger(mebibytes)) return `${mebibytes} MB`;
  return bytes % 1_000_000 === 0 ? `${bytes / 1_000_000} MB` : `${bytes} bytes`;
}

function tooLarge(maxBytes: number): RequestError {
  return new RequestError(`The request body is larger than ${toSize(maxBytes)}.`, { status: 413 });
}
