import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { consume } from "./consumer.ts";
import { MODEL } from "./support.ts";
import {
  createTurnApp,
  end,
  FAILURE,
  part,
  type Part,
  type TurnEnd,
  type TurnEvent,
} from "./turn-events.ts";
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

const STATUS: Record<TurnEnd["finish"], string> = {
  stop: "completed",
  "tool-calls": "completed",
  length: "incomplete",
  error: "failed",
};

const toModel = { reasoning_text: MODEL, reasoning: `${MODEL}:open-responses` };

describe("a strict client can read any turn", () => {
  const { post, stream } = createTurnApp();

  test("to the end", async () => {
    const finish = fc.constantFrom<TurnEnd["finish"]>("stop", "length", "tool-calls", "error");
    await fc.assert(
      fc.asyncProperty(parts, finish, dialect, async (given, reason, events) => {
        const failure = { kind: "invalid_answer", message: "No." } as const;
        const turn: TurnEvent[] = [
          { type: "start", promptTokens: 9 },
          ...toTurnEvents(given),
          end(reason, reason === "error" ? { failure } : {}),
        ];
        const body = { model: toModel[events] };
        const response = consume(await stream(turn, body), events);
        expect(response.status).toBe(STATUS[reason]);

        // A plain response is built without events, and is the same.
        const plain = await post(turn, body);
        expect(await plain.json()).toEqual(response);

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

  test("with a failure anywhere", async () => {
    await fc.assert(
      fc.asyncProperty(parts, fc.nat(), dialect, async (given, at, events) => {
        const turn: TurnEvent[] = [{ type: "start", promptTokens: 9 }, ...toTurnEvents(given)];
        const told = turn.slice(0, 1 + (at % turn.length));
        const failing = function* failing() {
          yield* told;
          throw FAILURE;
        };
        const response = consume(await stream(failing(), { model: toModel[events] }), events);
        expect(response.status).toBe("failed");
        for (const item of response.output) expect(item.status).toBe("completed");
      }),
      { numRuns: 500 },
    );
  });

  test("with hidden reasoning", async () => {
    const hidden = createTurnApp({ settings: { reasoningPolicy: "none" } });
    await fc.assert(
      fc.asyncProperty(parts, async (given) => {
        const turn = [
          { type: "start", promptTokens: 9 } as const,
          ...toTurnEvents(given),
          end("stop"),
        ];
        const shown = consume(await hidden.stream(turn));
        expect(shown.output.map((item) => textOf(item))).toEqual(
          given.map(({ kind, deltas }) => (kind === "reasoning" ? "" : deltas.join(""))),
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
