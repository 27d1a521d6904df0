/**
 * The next request of a conversation, from its bytes to the bytes of the engine's request, through the whole
 * application: milliseconds, in a separate process. `seen`: all but the newest message was in the request before, as in
 * any chat. `unseen`: the conversation is not cached.
 */
import { Tiktoken } from "js-tiktoken/lite";
import o200kBase from "js-tiktoken/ranks/o200k_base";

import type { RequestBody } from "../../../src/engines/transport.ts";
import { createConversation, type Message, prose } from "../text/conversations.ts";
import { MODEL } from "../streaming/requests.ts";
import { toMeasured } from "../statistics.ts";
import {
  closingEvents,
  fillIn,
  planCompletion,
  stopIdOf,
  tokenEvent,
} from "../streaming/completion.ts";
import { createBenchApp, createReplay, toRequest } from "./app.ts";

export interface TurnNumbers {
  readonly tokens: number;
  readonly bytes: number;
  readonly seenMs: number;
  readonly unseenMs: number;
  /** `JSON.parse` of the body alone. */
  readonly jsonParseMs: number;
  /** js-tiktoken's encoding of the messages' text alone. */
  readonly jsTiktokenMs: number;
}

const PASSES = Number(process.argv[2] ?? 15);

const answer = [
  ...fillIn(planCompletion("answer", 4)).map((word) => tokenEvent(word)),
  ...closingEvents(stopIdOf("answer"), 8),
];
const answered = Buffer.from(answer.join(""));

let onRequest: (body: RequestBody) => void = () => {};
const app = createBenchApp(
  createReplay({ bytes: answered, ends: [answered.length] }, (body) => onRequest(body)),
);
const oracle = new Tiktoken(o200kBase);
const conversations: TurnNumbers[] = [];
for (const tokens of [1000, 10_000, 100_000, 400_000])
  conversations.push(await measureTurns(tokens));
process.send?.(conversations);

async function measureTurns(tokens: number): Promise<TurnNumbers> {
  const seen: number[] = [];
  const unseen: number[] = [];
  const parsed: number[] = [];
  const oracles: number[] = [];
  let bytes = 0;
  for (let pass = -2; pass < PASSES; pass++) {
    const messages = createConversation(tokens, pass + 100 + tokens);
    const first = toBody(messages);
    const next: Message = { role: "user", content: prose(1000, 5000 + pass) };
    const second = toBody([...messages, { role: "assistant", content: "Yes." }, next]);
    bytes = second.length;
    const before = await timeToEngine(first);
    const after = await timeToEngine(second);
    const parse = time(() => JSON.parse(second));
    if (pass < 0) continue;
    unseen.push(before);
    seen.push(after);
    parsed.push(parse);
    if (pass < 2)
      oracles.push(time(() => messages.map(({ content }) => oracle.encode(content, [], []))));
  }
  return {
    tokens,
    bytes,
    seenMs: toMeasured(seen).median,
    unseenMs: toMeasured(unseen).median,
    jsonParseMs: toMeasured(parsed).median,
    jsTiktokenMs: toMeasured(oracles).median,
  };
}

/** Measures from passing in the request's bytes until the engine's body is complete. The answer is read to its end. */
async function timeToEngine(body: string): Promise<number> {
  const request = toRequest("/v1/chat/completions", body);
  let reached = 0n;
  onRequest = (sent) => {
    // The bytes, not a rope string that still has to be flattened.
    if (typeof sent === "string") Buffer.from(sent);
    reached = process.hrtime.bigint();
  };
  const start = process.hrtime.bigint();
  const response = await app.fetch(request);
  await response.text();
  if (reached === 0n) throw new Error("the engine was not asked");
  return Number(reached - start) / 1e6;
}

function toBody(messages: readonly Message[]): string {
  return JSON.stringify({ model: MODEL, stream: true, messages });
}

function time(run: () => unknown): number {
  const start = process.hrtime.bigint();
  run();
  return Number(process.hrtime.bigint() - start) / 1e6;
}
