/** Frames that are only counted while a stream is recorded can be made again: from the form that was noted, and the text. */
import {
  array,
  assert,
  asyncProperty,
  boolean,
  constantFrom,
  nat,
  oneof,
  record,
} from "fast-check";
import { describe, expect, test } from "vitest";
import { createChunkWriter } from "../../src/api/chat-completions/to-chunks.ts";
import { createEventWriter } from "../../src/api/messages/to-events.ts";
import { toFrames } from "../../src/api/responses/frames.ts";
import type { WrittenEvent } from "../../src/api/responses/to-events.ts";
import { clearHints, createFrameHints, type FrameHints } from "../../src/api/sse.ts";
import type { EventForm } from "../../src/telemetry/record/event-form.ts";
import type { TurnEvent } from "../../src/turn/turn.ts";
import { eventWriter } from "./responses/turn-events.ts";

type Delta = Extract<TurnEvent, { type: "part-delta" }>;

interface Writer {
  /** Writes the frames of an event. */
  push(event: TurnEvent): Promise<void>;
  /** Something else is sent between two events. */
  keepAlive?(): void;
}

type Take = (frame: string) => void;

const WRITERS: Readonly<Record<string, (hints: FrameHints, take: Take) => Writer>> = {
  "chat completions": (hints, take) => {
    const writer = createChunkWriter(
      {
        id: "gen-1",
        created: 1,
        model: "gpt-oss",
        provider: "vllm",
        reasoning: "text",
        mirrorReasoning: true,
        legacyFunctions: false,
        customTools: new Set(),
        usageWithoutChoices: false,
        logprobs: true,
        errorCodes: "strings",
      },
      0,
      hints,
    );
    return pushing((event) => writer.push(event), take);
  },
  messages: (hints, take) => {
    const writer = createEventWriter(
      { id: "msg_1", model: "gpt-oss", thinking: "text", containerExpiresAt: "" },
      hints,
    );
    return pushing((event) => {
      clearHints(hints);
      return writer.push(event);
    }, take);
  },
  responses: (hints, take) => {
    const writer = eventWriter();
    return {
      async push(event) {
        const events: WrittenEvent[] = writer.push(event);
        await toFrames(fromArray(events), hints).pushTo((frame) => {
          // What ends every list of events that is sent alone.
          if (frame !== "data: [DONE]\n\n") take(frame);
          return true;
        });
      },
      keepAlive: () => void writer.keepAlive(),
    };
  },
};

function pushing(toFrame: (event: TurnEvent) => string, take: Take): Writer {
  return {
    push(event) {
      const frame = toFrame(event);
      if (frame !== "") take(frame);
      return Promise.resolve();
    },
  };
}

async function* fromArray<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items;
}

/** What the record has of a stream: the last form, and the number of its events. */
class Recorded {
  #form: EventForm | undefined;
  #index = 0;
  /** The numbers of frames that were counted. */
  readonly counted: number[] = [];
  /** Frames that could not be made again. */
  readonly lost: string[] = [];

  useForm(form: EventForm): void {
    this.#form = form;
    this.#index = 0;
  }

  /** @param isLate the frame is written too late to be counted */
  take(frame: string, { token, asciiLength }: FrameHints, text: string, isLate: boolean): void {
    if (asciiLength === frame.length && Buffer.byteLength(frame) > asciiLength) {
      this.lost.push(`not ASCII: ${frame}`);
    }
    const form = this.#form;
    if (token === 0 || isLate) {
      const isInForm = form !== undefined && form.match(frame) >= 0;
      if (isInForm) this.#index++;
      // The numbers of a form are those of all its events.
      if (token !== 0 && form?.isNumbered && !isInForm) this.lost.push(`too late: ${frame}`);
      return;
    }
    this.counted.push(token);
    if (form?.toEvent(JSON.stringify(text), this.#index++) !== frame) this.lost.push(frame);
    form?.skip(1);
  }
}

interface Step {
  readonly event: TurnEvent;
  readonly isLate?: boolean;
  readonly isAfterKeepAlive?: boolean;
}

async function write(api: string, steps: readonly Step[]): Promise<Recorded> {
  const recorded = new Recorded();
  const hints = createFrameHints();
  hints.watcher = {
    countIn() {},
    noteEvents() {},
    noteForm: (form) => recorded.useForm(form),
  };
  let current: Step | undefined;
  const writer = WRITERS[api]?.(hints, (frame) => {
    const text = current?.event.type === "part-delta" ? current.event.text : "";
    recorded.take(frame, hints, text, current?.isLate ?? false);
  });
  for (const step of steps) {
    current = step;
    if (step.isAfterKeepAlive) writer?.keepAlive?.();
    await writer?.push(step.event);
  }
  return recorded;
}

const START: TurnEvent = { type: "start", promptTokens: 9 };
const END: TurnEvent = { type: "part-end" };

const anyKind = constantFrom("reasoning" as const, "preamble" as const, "content" as const);
const anyText = oneof(
  constantFrom(" word", "zwölf", '"', "\n", "中", "\u2028"),
  constantFrom("a".repeat(100), "b".repeat(8190), "c".repeat(8191), '"'.repeat(8192)),
);
const LOGPROBS = [{ id: 5, logprob: -1, top: [] }];
const CITATIONS = [
  { start: 0, end: 1, url: "https://example.com/", title: "Example", citedText: "a" },
];
const anyDelta = record({
  text: anyText,
  hasToken: boolean(),
  more: oneof(
    { weight: 8, arbitrary: constantFrom({}) },
    constantFrom({ logprobs: LOGPROBS }, { citations: CITATIONS }),
  ),
  isLate: nat(5).map((at) => at === 0),
  isAfterKeepAlive: nat(5).map((at) => at === 0),
});
const anyParts = array(record({ kind: anyKind, deltas: array(anyDelta, { maxLength: 8 }) }), {
  maxLength: 4,
});

describe.each(Object.keys(WRITERS))("%s", (api) => {
  test("frames are made again, whatever comes between them", async () => {
    const counts: number[] = [];
    await assert(
      asyncProperty(anyParts, async (parts) => {
        let token = 1000;
        const steps: Step[] = [{ event: START }];
        for (const { kind, deltas } of parts) {
          steps.push({ event: { type: "part-start", part: { kind } } });
          for (const { text, hasToken, more, ...how } of deltas) {
            const number = hasToken ? ++token : undefined;
            const event: Delta = { type: "part-delta", text, ...more, token: number };
            steps.push({ event, ...how });
          }
          steps.push({ event: END });
        }
        const { counted, lost } = await write(api, steps);
        expect(lost).toEqual([]);
        counts.push(counted.length);
      }),
    );
    expect(Math.max(...counts)).toBeGreaterThan(3);
  });

  test("all but the first frames of a part are counted", async () => {
    const deltas = Array.from({ length: 20 }, (_, at): Step => ({
      event: { type: "part-delta", text: ` word${at}`, token: 100 + at },
    }));
    const { counted, lost } = await write(api, [
      { event: START },
      { event: { type: "part-start", part: { kind: "reasoning" } } },
      ...deltas,
      { event: END },
      { event: { type: "part-start", part: { kind: "content" } } },
      ...deltas,
    ]);
    expect(lost).toEqual([]);
    const numbers = Array.from({ length: 20 }, (_, at) => 100 + at);
    // The first frame of chat completions has the role too.
    const first = api === "chat completions" ? 2 : 1;
    expect(counted).toEqual([...numbers.slice(first), ...numbers.slice(1)]);
  });
});
