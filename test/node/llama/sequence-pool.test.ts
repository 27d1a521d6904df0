import { describe, expect, it } from "vitest";
import { createSequencePool, type Sequence } from "../../../src/node/llama/model.ts";
import type { TokenId } from "../../../src/tokenizer/index.ts";

interface Held extends Sequence {
  readonly name: string;
  readonly ids: readonly TokenId[];
}

function holding(name: string, ids: readonly TokenId[]): Held {
  return { name, ids, nextTokenIndex: () => ids.length };
}

/** How many of the tokens it holds the prompt begins with. */
function prefixOf(prompt: readonly TokenId[]): (sequence: Held) => number {
  return ({ ids }) => {
    const different = ids.findIndex((id, index) => id !== prompt[index]);
    return different < 0 ? ids.length : different;
  };
}

const never = new AbortController().signal;

describe("a prompt gets", () => {
  it.each<[string, readonly TokenId[], string]>([
    ["the sequence it continues", [1, 2, 3, 4, 5, 6, 7, 8], "long"],
    ["the sequence it shares more than half of", [1, 2, 3, 4, 9, 9], "long"],
    ["an empty sequence rather than one that would lose half of what it holds", [1, 2, 3], "empty"],
    ["an empty sequence when it shares nothing", [7, 7], "empty"],
    ["the sequence it shares most with", [5, 6, 7, 8, 9], "other"],
  ])("%s", async (_, ids, expected) => {
    const pool = createSequencePool([
      holding("empty", []),
      holding("long", [1, 2, 3, 4, 5, 6]),
      holding("other", [5, 6, 7]),
    ]);
    expect((await pool.acquire(prefixOf(ids), never)).name).toBe(expected);
  });

  it("the sequence that has been idle longest when none fits", async () => {
    const [first, second] = [holding("first", [1, 1]), holding("second", [2, 2])];
    const pool = createSequencePool([first, second]);
    pool.release(await pool.acquire(prefixOf([9]), never));
    expect((await pool.acquire(prefixOf([9]), never)).name).toBe("second");
  });
});

describe("when all sequences are busy", () => {
  it("completions wait in order of arrival", async () => {
    const pool = createSequencePool([holding("only", [])]);
    const only = await pool.acquire(prefixOf([1]), never);
    const served: string[] = [];
    const waits = ["first", "second"].map(async (name) => {
      const sequence = await pool.acquire(prefixOf([1]), never);
      served.push(name);
      pool.release(sequence);
    });
    expect(served).toEqual([]);
    pool.release(only);
    await Promise.all(waits);
    expect(served).toEqual(["first", "second"]);
  });

  it("an aborted completion leaves the queue", async () => {
    const pool = createSequencePool([holding("only", [])]);
    const only = await pool.acquire(prefixOf([1]), never);
    const abort = new AbortController();
    const left = pool.acquire(prefixOf([1]), abort.signal);
    const stayed = pool.acquire(prefixOf([1]), never);
    const reason = new Error("The client left.");
    abort.abort(reason);
    await expect(left).rejects.toBe(reason);
    pool.release(only);
    expect(await stayed).toBe(only);
  });

  it("an already aborted completion is not admitted", async () => {
    const pool = createSequencePool([holding("only", [])]);
    const reason = new Error("The client left.");
    await expect(pool.acquire(prefixOf([1]), AbortSignal.abort(reason))).rejects.toBe(reason);
    expect((await pool.acquire(prefixOf([1]), never)).name).toBe("only");
  });
});
