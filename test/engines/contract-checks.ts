/**
 * Requirements for the output of every engine. `contract.test.ts` checks recorded streams, `proof/real/contract.ts` those of
 * a running server. Each check throws an `AssertionError` that describes the problem.
 */
import assert from "node:assert/strict";
import type { Capabilities } from "../../src/index.ts";
import type { Collected } from "./support.ts";

const FORMS = { exact: "ids", lossy: "pieces", none: "text", unmarked: "text" } as const;

/** One `open`, tokens in the engine's form and no other, one finish with this reason. */
export function expectAnswer(
  found: Collected,
  { idsOut }: Pick<Capabilities, "idsOut">,
  reason: "stop" | "length" = "stop",
): void {
  assert.equal(found.error, undefined, `an error: ${found.error?.message}`);
  assert.equal(found.opens, 1);
  const forms = ["ids", "pieces", "text"].filter((form) => form in found);
  assert.deepEqual(forms, [FORMS[idsOut]]);
  assert.equal(found.finish?.reason, reason);
}

/** @param promptTokens of the prompt that was sent, where it is known how many the server must count. */
export function expectUsage({ ids, finish }: Collected, sentTokens?: number): void {
  const { promptTokens = 0, cachedTokens = 0, completionTokens = 0 } = finish?.usage ?? {};
  assert.ok(promptTokens > 0, "no prompt tokens");
  if (sentTokens !== undefined) assert.equal(promptTokens, sentTokens);
  assert.ok(cachedTokens <= promptTokens, "more tokens cached than in the prompt");
  assert.ok(completionTokens > 0, "no completion tokens");
  if (ids !== undefined) assert.equal(completionTokens, ids.length);
}

/** One entry per id, sorted alternatives, at most as many as requested, and no probability above 1. */
export function expectLogprobs({ ids = [], logprobs = [] }: Collected, topLogprobs: number): void {
  assert.notEqual(ids.length, 0);
  assert.deepEqual(
    logprobs.map(({ id }) => id),
    ids,
  );
  for (const { logprob, top } of logprobs) {
    const values = top.map((each) => each.logprob);
    assert.ok(logprob <= 0, `log probability ${logprob}`);
    assert.ok(values.length <= topLogprobs);
    assert.deepEqual(
      values,
      values.toSorted((a, b) => b - a),
    );
  }
  assert.ok(logprobs.some(({ top }) => top.length === topLogprobs));
}
