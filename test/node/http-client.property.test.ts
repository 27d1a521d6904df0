/** The gateway's HTTP client against undici: the same bytes from an engine, cut anywhere, give the same outcome. */
import { createServer, type Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";

import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { EngineError } from "../../src/engines/engine-error.ts";
import type { Transport } from "../../src/engines/transport.ts";
import { createEngineTransport, type EngineTransport } from "../../src/node/engine-transport.ts";
import { ResponseReader } from "../../src/node/response-reader.ts";
import { listenAnywhere } from "../helpers/listen.ts";

const RUNS = Number(process.env["FUZZ_RUNS"] ?? 200);

/** What a reader of the response sees. */
interface Outcome {
  readonly status?: number;
  readonly headers?: string;
  readonly body: string;
  /** Kind and message of the failure, without which rule the response breaks. */
  readonly failure?: string;
}

let own: EngineTransport;
let undici: EngineTransport;
/** What the server sends next, in these pieces, before it closes the connection. */
let pieces: readonly Buffer[] = [];
let port: number;
const server = createServer((socket) => {
  socket.setNoDelay(true);
  socket.on("error", () => {});
  socket.once("data", () => void sendPieces(socket));
});

beforeAll(async () => {
  own = createEngineTransport("own");
  undici = createEngineTransport("undici");
  port = await listenAnywhere(server);
});
afterAll(async () => {
  await Promise.all([own.destroy(), undici.destroy()]);
  server.close();
});

async function sendPieces(socket: Socket): Promise<void> {
  for (const piece of pieces) {
    socket.write(piece);
    await nextTurn();
  }
  socket.end();
}

/** Names whose values are compared. */
const COMPARED = ["x-a", "content-length", "transfer-encoding", "connection", "keep-alive"];

async function ask(transport: Transport, sent: readonly Buffer[]): Promise<Outcome> {
  pieces = sent;
  let body = "";
  let head: { status: number; headers: string } | undefined;
  try {
    const response = await transport({
      method: "POST",
      url: `http://127.0.0.1:${port}/v1/completions`,
      headers: {},
      body: "{}",
      timeouts: { connectMs: 5000, firstByteMs: 5000, idleMs: 5000 },
      signal: new AbortController().signal,
    });
    const { status, headers } = response;
    head = { status, headers: JSON.stringify(COMPARED.map((name) => headers.get(name))) };
    await response.pump((buffer, from, to) => {
      body += Buffer.from(buffer.subarray(from, to)).toString("latin1");
      return true;
    });
    return { ...head, body };
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    const failure = `${error.kind}: ${error.message}`.replace(
      /\((Response does not match|Response body length|Headers Overflow|bad ).*\)/s,
      "(malformed)",
    );
    return { ...head, body, failure };
  }
}

const latin1 = (text: string): Buffer => Buffer.from(text, "latin1");
const CHUNKED = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
const LONG = "a".repeat(20_000);

/** Responses, and the oddities of each part of one. */
const RESPONSES: Readonly<Record<string, string>> = {
  "a length": "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi",
  "a length of zero": "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
  "a body up to the close": "HTTP/1.1 200 OK\r\n\r\nhi\r\n\r\n",
  "HTTP/1.0": "HTTP/1.0 200 OK\r\n\r\nhi",
  "HTTP/1.0 and a length": "HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nhi",
  "HTTP/1.0 and chunks":
    "HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
  chunks: `${CHUNKED}2\r\nhi\r\n0A\r\n0123456789\r\n00\r\n\r\n`,
  "chunks with extensions": `${CHUNKED}2;a;b=c;d="e;f"\r\nhi\r\n0;last\r\n\r\n`,
  "chunks with trailers": `${CHUNKED}2\r\nhi\r\n0\r\nx-a: 1\r\nx-b: 2\r\n\r\n`,
  "a repeated header": "HTTP/1.1 200 OK\r\nX-A: 1\r\nx-a: 2\r\ncontent-length: 2\r\n\r\nhi",
  "a header in latin1": "HTTP/1.1 200 OK\r\nx-a: \xe9 \xa0\t \r\ncontent-length: 2\r\n\r\nhi",
  "an empty header": "HTTP/1.1 200 OK\r\nx-a:\r\ncontent-length: 2\r\n\r\nhi",
  "no reason": "HTTP/1.1 200\r\ncontent-length: 2\r\n\r\nhi",
  "an unusual status": "HTTP/1.1 999 \r\ncontent-length: 2\r\n\r\nhi",
  "empty lines before": "\r\n\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi",
  "a 204 with a body": "HTTP/1.1 204 No\r\ncontent-length: 2\r\n\r\nhi",
  "a 304 with a length": "HTTP/1.1 304 No\r\ncontent-length: 2\r\n\r\n",
  "hints before":
    "HTTP/1.1 103 Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 102 P\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi",
  "a response nobody asked for":
    "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhiHTTP/1.1 200 OK\r\n\r\n",
  "an upgrade that is not one":
    "HTTP/1.1 200 OK\r\nconnection: upgrade\r\nupgrade: x\r\ncontent-length: 2\r\n\r\nhi",
  "other encodings": "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\nhi",
  "chunked behind another":
    "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\nTransfer-Encoding: CHUNKED\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
  "chunked before another": "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked, gzip\r\n\r\nhi",
  "almost chunked": "HTTP/1.1 200 OK\r\ntransfer-encoding: xchunked\r\n\r\n2\r\nhi\r\n",
  "a long head": `HTTP/1.1 200 OK\r\nx-b: ${LONG.slice(0, 16_000)}\r\ncontent-length: 2\r\n\r\nhi`,
  "many headers": `HTTP/1.1 200 OK\r\n${"b: c\r\n".repeat(3000)}content-length: 2\r\n\r\nhi`,
  // Broken
  nothing: "",
  "half a status": "HTTP/1.1 20",
  "half a head": "HTTP/1.1 200 OK\r\ncontent-le",
  "not HTTP": "SSH-2.0-OpenSSH_9.6\r\n",
  "another protocol": "ICY 200 OK\r\n\r\n",
  "an unknown version": "HTTP/1.2 200 OK\r\n\r\nhi",
  "a short status": "HTTP/1.1 20 OK\r\n\r\nhi",
  "a long status": "HTTP/1.1 2000 OK\r\n\r\nhi",
  "two spaces": "HTTP/1.1  200 OK\r\n\r\nhi",
  "bare line feeds": "HTTP/1.1 200 OK\ncontent-length: 2\n\nhi",
  "a header with a bare line feed": "HTTP/1.1 200 OK\r\nx-a: 1\n\r\nhi",
  "a head with a bare line feed": "HTTP/1.1 200 OK\r\nx-a: 1\r\n\nhi",
  "a carriage return in a header": "HTTP/1.1 200 OK\r\nx-a: 1\r2\r\n\r\nhi",
  "a NUL in a header": "HTTP/1.1 200 OK\r\nx-a: 1\x002\r\n\r\nhi",
  "a DEL in a header": "HTTP/1.1 200 OK\r\nx-a: 1\x7f2\r\n\r\nhi",
  "no colon": "HTTP/1.1 200 OK\r\nx-a\r\n\r\nhi",
  "a space before the colon": "HTTP/1.1 200 OK\r\nx-a : 1\r\n\r\nhi",
  "no name": "HTTP/1.1 200 OK\r\n: 1\r\n\r\nhi",
  "a folded header": "HTTP/1.1 200 OK\r\nx-a: 1\r\n 2\r\n\r\nhi",
  "a continuation of nothing": "HTTP/1.1 200 OK\r\n x-a: 1\r\n\r\nhi",
  "an empty length": "HTTP/1.1 200 OK\r\ncontent-length:\r\n\r\nhi",
  "a negative length": "HTTP/1.1 200 OK\r\ncontent-length: -2\r\n\r\nhi",
  "a signed length": "HTTP/1.1 200 OK\r\ncontent-length: +2\r\n\r\nhi",
  "a list of lengths": "HTTP/1.1 200 OK\r\ncontent-length: 2, 2\r\n\r\nhi",
  "two lengths": "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 2\r\n\r\nhi",
  "a huge length": "HTTP/1.1 200 OK\r\ncontent-length: 99999999999999999999999\r\n\r\nhi",
  "a length and chunks":
    "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
  "chunks and a length":
    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-length: 2\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
  "a length in a trailer": `${CHUNKED}2\r\nhi\r\n0\r\ncontent-length: 1\r\n\r\n`,
  "a broken trailer": `${CHUNKED}2\r\nhi\r\n0\r\nx\r\n\r\n`,
  "a long trailer": `${CHUNKED}2\r\nhi\r\n0\r\nx-a: ${LONG}\r\n\r\n`,
  "too long a header": `HTTP/1.1 200 OK\r\nx-a: ${LONG}\r\n\r\nhi`,
  "too many headers": `HTTP/1.1 200 OK\r\n${"b: cde\r\n".repeat(5000)}\r\nhi`,
  "a continue": "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi",
  "no size": `${CHUNKED}\r\nhi\r\n0\r\n\r\n`,
  "not a size": `${CHUNKED}2\r\nhi\r\ng\r\n\r\n`,
  "a signed size": `${CHUNKED}-2\r\nhi\r\n0\r\n\r\n`,
  "a prefixed size": `${CHUNKED}0x2\r\nhi\r\n0\r\n\r\n`,
  "a space behind the size": `${CHUNKED}2 \r\nhi\r\n0\r\n\r\n`,
  "a huge size": `${CHUNKED}2\r\nhi\r\nfffffffffffffffff\r\nhi`,
  "a size with a bare line feed": `${CHUNKED}2\nhi\r\n0\r\n\r\n`,
  "an extension with a bare line feed": `${CHUNKED}2;a\nhi\r\n0\r\n\r\n`,
  "a NUL in an extension": `${CHUNKED}2;a\x00\r\nhi\r\n0\r\n\r\n`,
  "a chunk with a bare line feed": `${CHUNKED}2\r\nhi\n0\r\n\r\n`,
  "a chunk longer than its size": `${CHUNKED}2\r\nhi!\r\n0\r\n\r\n`,
  "an end with a bare line feed": `${CHUNKED}2\r\nhi\r\n0\r\n\n`,
  "half a size": `${CHUNKED}2\r\nhi\r\n1`,
  "half a chunk": `${CHUNKED}4\r\nhi`,
  "half an end": `${CHUNKED}2\r\nhi\r\n0\r\n`,
  "half a length": "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nhi",
  "half a length before a close":
    "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 4\r\n\r\nhi",
  "half a chunk before a close":
    "HTTP/1.1 200 OK\r\nConnection: Close\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhi",
};

describe("the same outcome as undici", () => {
  test.each(Object.entries(RESPONSES))("%s", async (_, text) => {
    const expected = await ask(undici, [latin1(text)]);
    expect(await ask(own, [latin1(text)])).toEqual(expected);
  });

  test.each(Object.entries(RESPONSES))("%s, at every cut", (_, text) => {
    const bytes = latin1(text);
    const whole = readPieces([bytes]);
    expect(readPieces(Array.from(bytes, (byte) => Buffer.of(byte)))).toEqual(whole);
    const step = bytes.length > 2000 ? 997 : 1;
    for (let at = 1; at < bytes.length; at += step) {
      expect(readPieces([bytes.subarray(0, at), bytes.subarray(at)])).toEqual(whole);
    }
  });

  test("any response with a byte added, changed or removed, in pieces", async () => {
    const usual = Object.values(RESPONSES).filter((text) => text.length < 500);
    const mutation = fc.record({
      at: fc.double({ min: 0, max: 1, noNaN: true }),
      kind: fc.constantFrom("add", "change", "remove", "none"),
      byte: fc.oneof(
        fc.constantFrom(...Array.from('\r\n \t:;,0123abcf\x00\x7f\xe9-+"=')),
        fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)),
      ),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...usual),
        fc.array(mutation, { minLength: 1, maxLength: 2 }),
        fc.array(fc.nat({ max: 200 }), { maxLength: 3 }),
        async (text, mutations, cuts) => {
          const mutated = mutations.reduce(mutate, text);
          fc.pre(!hasOddExtension(mutated));
          const sent = cutAt(latin1(mutated), cuts);
          const expected = withoutRule(await ask(undici, sent));
          expect(withoutRule(await ask(own, sent))).toEqual(expected);
        },
      ),
      { numRuns: RUNS },
    );
  }, 300_000);
});

interface Mutation {
  readonly at: number;
  readonly kind: string;
  readonly byte: string;
}

function mutate(text: string, { at, kind, byte }: Mutation): string {
  const index = Math.floor(at * text.length);
  const rest = text.slice(kind === "change" || kind === "remove" ? index + 1 : index);
  return text.slice(0, index) + (kind === "add" || kind === "change" ? byte : "") + rest;
}

function cutAt(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [0, ...cuts.filter((cut) => cut < bytes.length).toSorted((a, b) => a - b)];
  return places.map((place, index) => bytes.subarray(place, places[index + 1]));
}

/** A line is checked when it is complete: until then, the end of the connection is the reason. */
function withoutRule({ failure, ...outcome }: Outcome): Outcome {
  return {
    ...outcome,
    ...(failure && { failure: failure.replace(/\((malformed|other side closed)\)/, "(broken)") }),
  };
}

/** llhttp checks the syntax of chunk extensions; the client skips them. */
function hasOddExtension(text: string): boolean {
  const [head = "", body = ""] = text.split("\r\n\r\n", 2);
  return /chunked/i.test(head) && /^[0-9a-f]+;[^\r]*[^\r;=a-z"]/im.test(body);
}

/** The outcome of the parser alone. */
function readPieces(sent: readonly Buffer[]): Record<string, unknown> {
  const reader = new ResponseReader();
  let body = "";
  for (const piece of sent) {
    if (reader.failure !== undefined) break;
    if (reader.hasEnded) {
      reader.keepAliveMs = 0;
      break;
    }
    // Behind the bytes there is what an earlier read has left.
    const buffer = Buffer.concat([piece, latin1("\n2\r\nold\r\n")]);
    reader.decode(buffer, piece.length);
    body += buffer.toString("latin1", reader.bodyFrom, reader.bodyTo);
  }
  const { status, hasEnded, failure, isPersistent, keepAliveMs } = reader;
  return {
    status,
    headers: { ...reader.takeHeaders() },
    hasEnded,
    failure: failure?.message,
    isPersistent,
    ...(hasEnded && { keepAliveMs }),
    body,
  };
}
