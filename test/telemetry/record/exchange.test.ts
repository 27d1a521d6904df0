/** Frames that are only counted are in the record once, in order, whenever they are written. */
import { expect, test } from "vitest";
import { countFrame } from "../../../src/api/sse.ts";
import { EventForm } from "../../../src/telemetry/record/event-form.ts";
import { ExchangeClock } from "../../../src/telemetry/record/exchange-clock.ts";
import { Exchange } from "../../../src/telemetry/record/exchange.ts";
import { RecordBudget, RecordMemory } from "../../../src/telemetry/record/limits.ts";
import { ReadLog } from "../../../src/telemetry/record/read-log.ts";
import { TurnRecording } from "../../../src/telemetry/record/recording.ts";
import { RecentClock } from "../../../src/telemetry/record/recent-clock.ts";
import { tokenText } from "../../../src/tokenizer/index.ts";

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
  const events = () => [...exchange.events.texts()].map(({ text }) => text);
  return { exchange, budget, clock, events };
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

  /** Returns the id's frame, and how to write it. */
  read(id: number) {
    if (this.#untold.length === 0) this.#number = this.#exchange.beginRun(this);
    const token = this.#number + this.#untold.length;
    this.#untold.push(id);
    const frame = `<${JSON.stringify(tokenText(id))}>`;
    return { frame, write: () => note(this.#exchange, frame, token) };
  }

  flush(): void {
    const ids = this.#untold;
    if (ids.length === 0) return;
    this.#untold = [];
    const notes = ids.flatMap((id) => [0, id]);
    const position = this.#reads.addTokens(notes, ids.length, 0);
    this.#exchange.noteRun(this.#reads, position);
  }
}

function note(exchange: Exchange, frame: string, token = 0): void {
  if (!countFrame(exchange.sent, { isLast: false, token })) exchange.noteEvents(frame);
}

test("frames of ids are counted until they are told of, others are kept in between", () => {
  const { exchange, budget, events } = createExchange();
  const reader = new Reader(exchange, budget);
  const expected: string[] = [];
  const write = (frame: string, how: () => void) => {
    expected.push(frame);
    how();
  };
  write("start", () => note(exchange, "start"));
  exchange.noteForm(FORM);
  for (let id = 100; id < 400; id++) {
    const { frame, write: how } = reader.read(id);
    write(frame, how);
    if (id % 32 === 0) reader.flush();
    if (id % 50 === 0) write("ping", () => note(exchange, "ping"));
    if (id % 70 === 0) write('<"like a word">', () => note(exchange, '<"like a word">'));
  }
  reader.flush();
  expect(events()).toEqual(expected);
  expect(budget.cut).toEqual([]);
});

test("a frame that is written after its id was told of is kept as a whole", () => {
  const { exchange, budget, events } = createExchange();
  exchange.noteForm(FORM);
  const reader = new Reader(exchange, budget);
  const [first, second, third] = [101, 102, 103].map((id) => reader.read(id));
  first?.write();
  reader.flush();
  second?.write();
  const fourth = reader.read(104);
  third?.write();
  fourth.write();
  reader.flush();
  expect(events()).toEqual([first, second, third, fourth].map((each) => each?.frame));
});

test("a frame that is never written is not in the record", () => {
  const { exchange, budget, events } = createExchange();
  exchange.noteForm(FORM);
  const reader = new Reader(exchange, budget);
  const written = reader.read(101);
  written.write();
  reader.read(102);
  reader.flush();
  const next = reader.read(103);
  next.write();
  reader.flush();
  expect(events()).toEqual([written.frame, next.frame]);
});

test("without room for ids, their frames are left out, and the record says so", () => {
  const { exchange, budget, events } = createExchange(3000);
  exchange.noteForm(FORM);
  const reader = new Reader(exchange, budget);
  for (let id = 0; id < 1000; id++) {
    reader.read(1000 + id).write();
    if (id % 32 === 31) reader.flush();
  }
  reader.flush();
  const left = Object.fromEntries(budget.cut.map(({ what, left: count }) => [what, count]));
  expect(events().length).toBeGreaterThan(100);
  expect(events().length + (left["events"] ?? 0)).toBe(1000);
  expect(left["reads"]).toBeGreaterThan(0);
});

test("without room for the engine call, its frames are left out, and the record says so", () => {
  const { exchange, budget, clock, events } = createExchange();
  exchange.noteForm(FORM);
  const recording = new TurnRecording({ budget, clock, exchange });
  const token = recording.begin({ tell() {} });
  for (const at of [0, 1]) note(exchange, "<>", token + at);
  recording.noteTokens([0, 101, 0, 102], 2);
  note(exchange, "end");
  expect(events()).toEqual(["end"]);
  expect(budget.cut).toEqual([{ what: "events", left: 2 }]);
});
