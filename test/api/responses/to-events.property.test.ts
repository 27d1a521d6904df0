import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { FinishReason, Part, TurnEvent } from "../../../src/turn/turn.ts";
import { consume } from "./consumer.ts";
import { end, eventWriter, part, responseBuilder, write } from "./turn-events.ts";
import { anyCharacter } from "../../helpers/any-character.ts";

interface RandomPart {
  readonly kind: Exclude<Part["kind"], "builtin-call">;
  readonly deltas: readonly string[];
}

const text = fc.string({ minLength: 1, maxLength: 12, unit: anyCharacter });

const parts: fc.Arbitrary<RandomPart[]> = fc.array(
  fc.record({
    kind: fc.constantFrom<Exclude<Part["kind"], "builtin-call">>(
      "reasoning",
      "preamble",
      "content",
      "tool-call",
    ),
    deltas: fc.array(text, { maxLength: 5 }),
  }),
  { maxLength: 8 },
);

function toTurnEvents(given: readonly RandomPart[]): TurnEvent[] {
  return given.flatMap(({ kind, deltas }, index) => {
    const it: Part =
      kind === "tool-call" ? { kind, id: `call_${index}`, name: `f${index}` } : { kind };
    return part(it, ...deltas);
  });
}

const dialect = fc.constantFrom("reasoning_text" as const, "reasoning" as const);

const STATUS: Record<FinishReason, string> = {
  stop: "completed",
  "tool-calls": "completed",
  length: "incomplete",
  error: "failed",
};

describe("a strict client can read any turn", () => {
  test("to the end", () => {
    const finish = fc.constantFrom<FinishReason>("stop", "length", "tool-calls", "error");
    fc.assert(
      fc.property(parts, finish, dialect, fc.boolean(), (given, reason, events, queued) => {
        const failure = { kind: "invalid_answer", message: "No." } as const;
        const turn: TurnEvent[] = [
          { type: "start", promptTokens: 9 },
          ...toTurnEvents(given),
          end(reason, reason === "error" ? { failure } : {}),
        ];
        const writer = eventWriter({ reasoningEvents: events, queued });
        const waiting = queued ? writer.queue().map(({ json }): unknown => JSON.parse(json)) : [];
        const response = consume([...waiting, ...write(writer, turn)], events);
        expect(response.status).toBe(STATUS[reason]);
        expect(response).toEqual(JSON.parse(JSON.stringify(writer.builder.response())));

        // A plain response is built without events, and is the same.
        const plain = responseBuilder({ queued });
        for (const event of turn) plain.push(event);
        expect(plain.response()).toEqual(writer.builder.response());
        expect(plain.output).toEqual(writer.builder.output);

        const isWrong =
          reason === "error" && ["content", "tool-call"].includes(given.at(-1)?.kind ?? "");
        const closed = isWrong ? given.slice(0, -1) : given;
        expect(response.output.map((item) => textOf(item))).toEqual(
          closed.map(({ deltas }) => deltas.join("")),
        );
        expect(response.output.map((item) => item.status)).toEqual(
          closed.map((_, index) =>
            reason === "length" && index === closed.length - 1 ? "incomplete" : "completed",
          ),
        );
      }),
      { numRuns: 500 },
    );
  });

  test("with a failure anywhere", () => {
    fc.assert(
      fc.property(parts, fc.nat(), dialect, (given, at, events) => {
        const turn: TurnEvent[] = [{ type: "start", promptTokens: 9 }, ...toTurnEvents(given)];
        const writer = eventWriter({ reasoningEvents: events });
        const told = write(writer, turn.slice(0, at % (turn.length + 1)));
        const failed = writer.fail({
          status: 502,
          message: "Gone.",
          type: "server_error",
          param: null,
          errorType: "server",
        });
        const response = consume([...told, ...failed.map(({ json }) => JSON.parse(json))], events);
        expect(response.status).toBe("failed");
        for (const item of response.output) expect(item.status).toBe("completed");
      }),
      { numRuns: 500 },
    );
  });

  test("with hidden reasoning", () => {
    fc.assert(
      fc.property(parts, (given) => {
        const writer = eventWriter({ showReasoning: false });
        const shown = consume(
          write(writer, [{ type: "start", promptTokens: 9 }, ...toTurnEvents(given), end("stop")]),
        );
        const reasoning = shown.output.filter((item) => item.type === "reasoning");
        for (const item of reasoning) expect(item.content).toEqual([]);
        const kept = writer.builder.output.filter((item) => item.type === "reasoning");
        expect(kept.map((item) => textOf(item))).toEqual(
          given.filter(({ kind }) => kind === "reasoning").map(({ deltas }) => deltas.join("")),
        );
      }),
      { numRuns: 200 },
    );
  });
});

function textOf(
  item:
    | { readonly arguments: string | object }
    | { readonly content: readonly { readonly text: string }[] }
    | { readonly input: string }
    | { readonly type: "compaction" },
): string {
  if ("content" in item) return item.content.map((each) => each.text).join("");
  if ("input" in item) return item.input;
  return "arguments" in item && typeof item.arguments === "string" ? item.arguments : "";
}
