import { connect } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import * as fc from "fast-check";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { startTestGateway } from "../../helpers/gateway.ts";

let port = 0;

beforeAll(async () => {
  const gateway = await startTestGateway();
  port = Number(new URL(gateway.origin).port);
  return () => gateway.close();
});

/** A request for a model that does not exist: the response contains the name. */
function toRequest(model: string): Buffer {
  const body = JSON.stringify({ model, messages: [{ role: "user", content: "Hi" }] });
  const length = Buffer.byteLength(body);
  return Buffer.from(
    `POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${length}\r\n\r\n${body}`,
  );
}

/** Sends each part in a separate turn of the event loop, and returns the bodies of this number of responses. */
async function exchange(parts: readonly Uint8Array[], responses: number): Promise<string[]> {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  onTestFinished(() => void socket.destroy());
  for (const part of parts) {
    socket.write(part);
    for (let turn = 0; turn < 3; turn++) await nextTurn();
  }
  let text = "";
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    text += String(chunk);
    const bodies = readBodies(text);
    if (bodies.length === responses) return bodies;
  }
  throw new Error(`the connection was closed after ${text}`);
}

/** The bodies of complete responses with a length. */
function readBodies(text: string): string[] {
  const bodies: string[] = [];
  for (let rest = text; ;) {
    const [, head = "", length = ""] =
      /^(HTTP[^]*?content-length: (\d+)[^]*?\r\n\r\n)/i.exec(rest) ?? [];
    const end = head.length + Number(length);
    if (head === "" || rest.length < end) return bodies;
    bodies.push(rest.slice(head.length, end));
    rest = rest.slice(end);
  }
}

test("requests on one connection have their own bodies, wherever their bytes are split", async () => {
  const bodies = fc.array(fc.stringMatching(/^[\w-]{1,30}$/), {
    minLength: 1,
    maxLength: 3,
  });
  const cuts = fc.array(fc.nat(600), { maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(bodies, cuts, async (sent, at) => {
      const bytes = Buffer.concat(sent.map(toRequest));
      const ends = [...new Set(at.map((each) => each % bytes.length))].toSorted((a, b) => a - b);
      const parts = [0, ...ends].map((from, index) => bytes.subarray(from, ends[index]));
      const answers = await exchange(
        parts.filter(({ length }) => length > 0),
        sent.length,
      );
      expect(answers.map((each) => /"message":"([\w-]+) is not/.exec(each)?.[1] ?? each)).toEqual(
        sent,
      );
    }),
    { numRuns: 60 },
  );
});
