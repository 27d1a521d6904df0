import { describe, expect, test, vi } from "vitest";
import { Encoder } from "../../src/tokenizer/encoder.ts";
import { unpackTokenBytes } from "../../src/tokenizer/token-bytes.ts";

/** Rare words, each of several tokens or of an uncommon one. */
const RARE = Array.from({ length: 1_000 }, (_, index) =>
  ((index + 1) * 7_919_777).toString(36).replaceAll(/\d/g, "q"),
).join(" ");

const tokens = unpackTokenBytes();

/** The table of short tokens in `ranks.ts` is full. Until then each lookup fills it, whatever it looks for. */
function createPrepared() {
  const encoder = new Encoder(tokens);
  for (let i = 0; i < 10; i++) encoder.encode(RARE, `before ${i}`);
  return encoder;
}

/** Runs `work` and counts its reads of texts, tables and tokens. */
function countReads(work: () => unknown): number {
  const spies = (["getUint8", "getUint16", "getInt32"] as const).map((name) =>
    vi.spyOn(DataView.prototype, name),
  );
  work();
  const reads = spies.reduce((sum, { mock }) => sum + mock.calls.length, 0);
  vi.restoreAllMocks();
  return reads;
}

describe("what one scope has encoded", () => {
  test.each([
    ["at once", RARE.slice(0, 2_000)],
    ["in steps", RARE],
  ])("costs another as much as if it were unseen: %s", (_, text) => {
    const fresh = createPrepared();
    const unseen = countReads(() => fresh.encode(text, "b"));
    const encoder = createPrepared();
    const first = encoder.encode(text, "a");
    const seen = countReads(() => expect(encoder.encode(text, "b")).toEqual(first));
    expect(seen).toBe(unseen);
    const known = countReads(() => encoder.encode(text, "b"));
    expect(known).toBeLessThan(unseen);
  });
});
