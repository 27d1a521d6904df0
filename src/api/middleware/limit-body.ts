/** Receives request bodies, and refuses those that are too large or for which there is no room. */
import type { Context, MiddlewareHandler, Next } from "hono";
import type { ApiEnv } from "../request/client.ts";
import { RequestError } from "../errors.ts";
import { UNCOUNTED_BYTES, type UploadBudget, type UploadLease } from "../request/upload-budget.ts";

/**
 * A larger body fails with a {@link RequestError} of status 413. Large ones are received here, within the budget. To touch
 * the stream of a body whose length is announced would make reading it slow on Node.
 */
export function limitBody(maxBytes: number, uploads: UploadBudget): MiddlewareHandler<ApiEnv> {
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
    // Hono keeps it for the route.
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

async function receive(lease: UploadLease, read: () => Promise<unknown>): Promise<void> {
  try {
    await read();
  } finally {
    lease.release();
  }
}

/** Into one buffer, because each of its parts, which a client can make tiny, would take a hundred bytes by itself. */
async function readUnannounced(
  c: Context<ApiEnv>,
  body: ReadableStream<Uint8Array>,
  lease: UploadLease,
  maxBytes: number,
): Promise<void> {
  let buffer = new Uint8Array(0);
  let length = 0;
  for await (const part of body) {
    const start = length;
    length += part.length;
    if (length > maxBytes) throw tooLarge(maxBytes);
    if (length > buffer.length) {
      const larger = new Uint8Array(Math.min(maxBytes, Math.max(length, 2 * buffer.length)));
      if (larger.length > UNCOUNTED_BYTES) lease.resize(larger.length);
      larger.set(buffer.subarray(0, start));
      buffer = larger;
    }
    buffer.set(part, start);
  }
  const { method, raw } = c.req;
  c.req.raw = new Request(raw, { method, body: buffer.subarray(0, length) });
}

function tooLarge(maxBytes: number): RequestError {
  return new RequestError(`The request body is larger than ${maxBytes} bytes.`, {
    status: 413,
    errorType: "payload_too_large",
  });
}
