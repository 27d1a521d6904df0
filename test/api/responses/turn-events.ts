/** Shorthand for turn events, and the events that a writer makes of them. */
import {
  ResponseBuilder,
  type ResponseBuilderOptions,
} from "../../../src/api/responses/response-builder.ts";
import { EventWriter, type EventWriterOptions } from "../../../src/api/responses/to-events.ts";
import { createResponseWriter } from "../../../src/api/responses/to-response.ts";
import type { Part, TurnEnd, TurnEvent } from "../../../src/turn/turn.ts";
import { MODEL } from "./support.ts";

const NOW = 1_700_000_001;

export function part(kind: Part, ...deltas: string[]): TurnEvent[] {
  return [
    { type: "part-start", part: kind },
    ...deltas.map((text): TurnEvent => ({ type: "part-delta", text })),
    { type: "part-end" },
  ];
}

export const reasoning: Part = { kind: "reasoning" };
export const preamble: Part = { kind: "preamble" };
export const content: Part = { kind: "content" };

export function call(name: string, id = "call_1"): Part {
  return { kind: "tool-call", id, name };
}

export function end(finish: TurnEnd["finish"], more: Partial<TurnEnd> = {}): TurnEvent {
  return {
    type: "end",
    finish,
    nativeReason: null,
    usage: {
      promptTokens: 10,
      cachedTokens: 4,
      completionTokens: 7,
      reasoningTokens: 3,
      engineCalls: 1,
    },
    recoveries: new Map(),
    ...more,
  };
}

export interface TestWriterOptions
  extends EventWriterOptions, Pick<ResponseBuilderOptions, "listings" | "queued"> {}

export function responseBuilder({
  showReasoning = true,
  queued = false,
  listings = [],
}: Partial<TestWriterOptions> = {}): ResponseBuilder {
  return new ResponseBuilder({
    toResponse: createResponseWriter(
      { model: MODEL, input: "Hello!", background: queued },
      {
        id: "resp_0",
        createdAt: 1_700_000_000,
        model: MODEL,
        effort: "medium",
        parallelToolCalls: true,
      },
    ),
    toItemId: (prefix, index) => `${prefix}_0_${index}`,
    listings,
    targets: new Map(),
    now: () => NOW,
    showReasoning,
    includes: { sources: false, results: false, outputs: false },
    queued,
    isCodex: false,
    isUnlimited: false,
  });
}

export type TestWriter = EventWriter & { readonly builder: ResponseBuilder };

export function eventWriter(options: Partial<TestWriterOptions> = {}): TestWriter {
  const builder = responseBuilder(options);
  const writer = new EventWriter(builder, {
    reasoningEvents: "reasoning_text",
    showReasoning: true,
    ...options,
  });
  return Object.assign(writer, { builder });
}

export function write(writer: EventWriter, events: readonly TurnEvent[]): unknown[] {
  return events.flatMap((event) => writer.push(event)).map(({ json }) => JSON.parse(json));
}
