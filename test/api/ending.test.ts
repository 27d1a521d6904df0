import { expect, test } from "vitest";
import { createEngine } from "../../src/index.ts";
import { appOf } from "../helpers/app.ts";
import { testSettings } from "../helpers/gateway.ts";

/** A stream of frames, with hints about the frame that is pushed. */
interface Source {
  readonly frames: { pushTo(take: (frame: string) => boolean): Promise<void> };
  readonly hints?: { readonly isLast?: boolean };
}

const MESSAGES = [{ role: "user", content: "Hello" }];

function createGateway() {
  return appOf(testSettings(), [{ id: "m", engine: createEngine("demo", { model: "demo" }) }], {});
}

test.each([
  ["/v1/chat/completions", { messages: MESSAGES }, '"finish_reason":"stop"'],
  ["/v1/chat/completions", { messages: MESSAGES, n: 3 }, undefined],
  ["/v1/messages", { messages: MESSAGES, max_tokens: 1000 }, "event: message_delta"],
  ["/v1/responses", { input: "Hello" }, "event: response.completed"],
])("%s says which frame is the last: %j", async (path, fields, begin) => {
  const sources: Source[] = [];
  const body = JSON.stringify({ model: "m", stream: true, ...fields });
  const headers = { "content-type": "application/json" };
  const takeFrames = (source: Source) => void sources.push(source);
  const request = { method: "POST", body, headers };
  const response = await createGateway().request(path, request, { takeFrames });
  expect(response.status).toBe(200);
  const early: string[] = [];
  const last: string[] = [];
  const [source] = sources;
  await source?.frames.pushTo((frame) => {
    (source.hints?.isLast === true ? last : early).push(frame);
    return true;
  });
  expect(early.length).toBeGreaterThan(2);
  expect(last).toHaveLength(1);
  expect(last.join("")).toMatch(/\[DONE\]\n\n$|message_stop"\}\n\n$/);
  if (begin === undefined) return;
  expect(last[0]).toContain(begin);
  expect(early.join("")).not.toContain(begin);
});
