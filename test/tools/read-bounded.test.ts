import { expect, test } from "vitest";
import { limitedFetch } from "../../src/node/mcp/http-fetch.ts";
import { readBounded } from "../../src/tools/read-bounded.ts";

/** Endless, in pieces of one byte. */
function createDrip() {
  const drip = { pieces: 0, isCancelled: false };
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        drip.pieces++;
        controller.enqueue(new Uint8Array(1));
      },
      cancel() {
        drip.isCancelled = true;
      },
    },
    { highWaterMark: 0 },
  );
  return { drip, body };
}

test("a body is joined, and one that is larger is not read to its end", async () => {
  const body = async function* () {
    yield* [Uint8Array.of(1, 2), Uint8Array.of(3)];
  };
  expect(await readBounded(body(), 128)).toEqual(Uint8Array.of(1, 2, 3));
  expect(await readBounded(body(), 127)).toBeUndefined();
  expect(await readBounded(null, 0)).toEqual(new Uint8Array());
});

test("a body in pieces of one byte is cut off after as many as cost what its limit costs", async () => {
  const { drip, body } = createDrip();
  expect(await readBounded(body, 64_000)).toBeUndefined();
  expect(drip).toEqual({ pieces: 1001, isCancelled: true });
});

test("so is a response of an MCP server", async () => {
  const { drip, body } = createDrip();
  const fetch = limitedFetch(() => Promise.resolve(new Response(body)), 60_000, 64_000);
  const response = await fetch("http://a.example/", { method: "POST" });
  await expect(response.text()).rejects.toThrow("It answered too much.");
  expect(drip.pieces).toBe(1001);
});
