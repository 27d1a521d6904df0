/** Frames that are only counted are in the record once, in order, whenever they are written. */
import { expect, test } from "vitest";
import { countFrame, createFrameHints } from "../../../src/api/sse.ts";
import { EventForm } from "../../../src/telemetry/record/event-form.ts";
import { ExchangeClock } from "../../../src/telemetry/record/exchange-clock.ts";
import { Exchange } from "../../../src/telemetry/record/exchange.ts";
import { RecordBudget, RecordMemory } from "../../../src/telemetry/record/limits.ts";
import { ReadLog } from "../../../src/telemetry/record/read-log.ts";
import { TurnRecording } from "../../../src/telemetry/record/recording.ts";
import { RecentClock } from "../../../src/telemetry/record/recent-clock.ts";
import { tokenText } from "../../../src/tokenizer/index.ts";
import { toNote } from "../../../src/turn/token-notes.ts";

const FORM = new EventForm({ head: "<", number: undefined, joints: [], tail: ">" });

function createExchange(bytes = Infinity) {
  const budget = new RecordBudget(bytes, new RecordMemory(Infinity, () => false));
  const clock = new ExchangeClock(new RecentClock(() => 0));
  const exchange = new Exchange(
    {
      id: "r",
      api: "chat-completions",
      tenant: "",
      reasoningPolicy: "keep",
      method: "POST",
      path: "/",
      headers: new Headers(),
      body: "{}",
    },
    new Date(0),
    { budget, clock, allocate: undefined },
  );
  const hints = createFrameHints();
  exchange.countIn(hints);
  /** Writes a frame, as the response's writer does. */
  const write = (frame: string, token = 0) => {
    hints.token = token;
    if (!countFrame(hints)) exchange.noteEvents(frame);
  };
  const events = () => [...exchange.events.texts()].map(({ text }) => text);
  return { exchange, budget, clock, write, events };
}

/** Reads ids that it tells of together, as `OrdinaryReads` and `TurnRecording` do. */
class Reader {
  readonly #exchange: Exchange;
  readonly #reads: ReadLog;
  #untold: number[] = [];
  #number = 0;

  constructor(exchange: Exchange, budget: RecordBudget) {
    this.#exchange = exchange;
    this.#reads = new ReadLog(budget);
  }

  /** Returns the id's frame and its number. */
  read(id: number) {
    if (this.#untold.length === 0) this.#number = this.#exchange.beginRun(this);
    const token = this.#number + this.#untold.length;
    this.#untold.push(id);
    const frame = `<${JSON.stringify(tokenText(id) ?? "")}>`;
    return [frame, token] as const;
  }

  flush(): void {
    const ids = this.#untold;
    if (ids.length === 0) return;
    this.#untold = [];
    const notes = Uint32Array.from(ids, (id) => toNote(id, 0));
    const position = this.#reads.addTokens(notes, [{ at: 0, time: 0 }]);
    this.#exchange.noteRun(this.#reads, position);
  }
}

test("frames of ids are counted until they are told of, others are kept in between", () => {
  const { exchange, budget, write, events } = createExchange();
  const reader = new Reader(exchange, budget);
  const expected: string[] = [];
  const expectAndWrite = (frame: string, token?: number) => {
    expected.push(frame);
    write(frame, token);
  };
  expectAndWrite("start");
  exchange.noteForm(FORM);
  for (let id = 1100; id < 1400; id++) {
    expectAndWrite(...reader.read(id));
    if (id % 32 === 0) reader.flush();
    if (id % 50 === 0) expectAndWrite("ping");
    if (id % 70 === 0) expectAndWrite('<"like a word">');
  }
  reader.flush();
  expect(events()).toEqual(expected);
  expect(budget.cut).toEqual([]);
});

test("a frame that is written after its id was told of is kept as a whole", () => {
  const { exchange, budget, write, events } = createExchange();
  exchange.noteForm(FORM);
  const reader = new Reader(exchange, budget);
  const first = reader.read(1101);
  const second = reader.read(1102);
  const third = reader.read(1103);
  write(...first);
  reader.flush();
  write(...second);
  const fourth = reader.read(1104);
  write(...third);
  write(...fourth);
  reader.flush();
  expect(events()).toEqual([first, second, third, fourth].map(([frame]) => frame));
});

test("a frame that is never written is not in the record", () => {
  const { exchange, budget, write, events } = createExchange();
  exchange.noteForm(FORM);
  const reader = new Reader(exchange, budget);
  const written = reader.read(1101);
  write(...written);
  reader.read(1102);
  reader.flush();
  const next = reader.read(1103);
  write(...next);
  reader.flush();
  expect(events()).toEqual([written, next].map(([frame]) => frame));
});

test("without room for ids, their frames are left out, and the record says so", () => {
  const { exchange, budget, write, events } = createExchange(3000);
  exchange.noteForm(FORM);
  const reader = new Reader(exchange, budget);
  for (let id = 0; id < 1000; id++) {
    write(...reader.read(1000 + id));
    if (id % 32 === 31) reader.flush();
  }
  reader.flush();
  const left = Object.fromEntries(budget.cut.map(({ what, left: count }) => [what, count]));
  expect(events().length).toBeGreaterThan(100);
  expect(events().length + (left["events"] ?? 0)).toBe(1000);
  expect(left["reads"]).toBeGreaterThan(0);
});

test("without room for the engine call, its frames are left out, and the record says so", () => {
  const { exchange, budget, clock, write, events } = createExchange();
  exchange.noteForm(FORM);
  const recording = new TurnRecording({ budget, clock, exchange });
  const token = recording.begin({ tell() {} });
  for (const at of [0, 1]) write("<>", token + at);
  recording.noteTokens(Uint32Array.of(toNote(1101, 0), toNote(1102, 0)), [{ at: 0, time: 0 }]);
  write("end");
  expect(events()).toEqual(["end"]);
  expect(budget.cut).toEqual([{ what: "events", left: 2 }]);
});
