/** The end of a completion, for servers that report a finish and then send nothing more. */
import { describe, expect, test } from "vitest";
import { createEngine, type EngineEvent, type Transport } from "../../src/index.ts";
import { createFakeClock, settle } from "./pool/support.ts";
import { requestOf } from "./support.ts";

type BytesConsumer = Parameters<Awaited<ReturnType<Transport>>["pump"]>[0];

const frame = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`;

const TOKEN = frame({ choices: [{ index: 0, text: "", token_ids: [1], finish_reason: null }] });
const LAST = frame({ choices: [{ index: 0, text: "", token_ids: [2], finish_reason: "stop" }] });
const USAGE = frame({ choices: [], usage: { prompt_tokens: 5, completion_tokens: 2 } });

/** A server whose response is controlled by the test and does not end by itself. */
function serve() {
  const clock = createFakeClock();
  const closes: (number | undefined)[] = [];
  const pumping = Promise.withResolvers<BytesConsumer>();
  const ended = Promise.withResolvers<void>();
  const transport: Transport = async () => ({
    status: 200,
    headers: { get: () => "text/event-stream" },
    pump: (take) => {
      pumping.resolve(take);
      return ended.promise;
    },
    close: (graceMs) => void closes.push(graceMs),
  });
  const engine = createEngine("vllm", { url: "http://a:8000", model: "m", transport, clock });
  const events: EngineEvent[] = [];
  const end = (async () => {
    for await (const event of engine.complete(requestOf(), new AbortController().signal)) {
      events.push(event);
    }
  })();
  const write = async (text: string): Promise<unknown> => {
    const take = await pumping.promise;
    const more = await take(new TextEncoder().encode(text));
    if (!more) ended.resolve();
    await settle();
    return more;
  };
  return { clock, closes, events, end, write, close: ended.resolve };
}

const finishOf = (events: readonly EngineEvent[]) => events.find(({ type }) => type === "finish");

describe("after its finish", () => {
  test("a server has a second to send its usage; then the connection is closed", async () => {
    const { clock, closes, events, end, write } = serve();
    await write(TOKEN + LAST);
    clock.advance(999);
    await settle();
    expect(finishOf(events)).toBeUndefined();
    clock.advance(1);
    await end;
    expect(finishOf(events)).toEqual({ type: "finish", reason: "stop", nativeReason: "stop" });
    expect(closes).toEqual([undefined]);
    expect(await write(USAGE)).toBe(false);
  });

  test("its usage is used if it arrives in time, also without an end after it", async () => {
    const { clock, events, end, write } = serve();
    await write(LAST);
    clock.advance(500);
    await write(USAGE);
    clock.advance(500);
    await end;
    expect(finishOf(events)).toMatchObject({ usage: { promptTokens: 5, completionTokens: 2 } });
  });

  test("a stream that ends normally keeps its connection, without a wait", async () => {
    const { clock, closes, events, end, write } = serve();
    await write(`${LAST}${USAGE}data: [DONE]\n\n`);
    await end;
    expect(finishOf(events)).toBeDefined();
    expect(closes).toEqual([250]);
    expect(clock.timers).toBe(0);
  });
});

test("the time limit starts only with the finish", async () => {
  const { clock, events, end, write, close } = serve();
  await write(TOKEN);
  clock.advance(60_000);
  await settle();
  expect(events.map(({ type }) => type)).toEqual(["open", "ids"]);
  await write(LAST);
  close();
  await end;
  expect(clock.timers).toBe(0);
});
