import {
  array,
  assert,
  asyncProperty,
  boolean,
  constantFrom,
  infiniteStream,
  integer,
  oneof,
} from "fast-check";
import { describe, expect, test } from "vitest";
import { type Json, parseJson } from "../../../src/harmony/index.ts";
import { scriptedEngine } from "../../helpers/scripted-engine.ts";
import { problemWith } from "../../helpers/problem-with.ts";
import { finishTurn, formedAnswer, offeredTool, partsOf, turnWith } from "../../helpers/turns.ts";
import type { Capabilities } from "../../../src/index.ts";

const SCHEMA = '{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}';

/** Random output of a model: valid and invalid parts of Harmony, in any order. */
const scrap = constantFrom(
  "<|channel|>",
  "<|message|>",
  "<|end|>",
  "<|start|>",
  "<|call|>",
  "<|return|>",
  "<|constrain|>",
  "assistant",
  "analysis",
  "commentary",
  "final",
  " to=functions.get_weather",
  " to=functions.get_time",
  " to=python",
  "functions",
  ".get_time",
  "user",
  " json",
  '{"city":"Oslo"}',
  '{"city":',
  "{}",
  "[]",
  "}",
  "thinking about it",
  " ",
  "👩‍🚀",
);
const completion = oneof(
  array(scrap, { maxLength: 14 }).map((scraps) => scraps.join("")),
  array(integer({ min: 0, max: 201_200 }), { maxLength: 30 }),
);
const form = constantFrom("ids" as const, "pieces" as const, "text" as const);
const constraints = constantFrom<Capabilities["constraints"][number][]>(
  [],
  ["json-schema", "json-object", "choice"],
  ["json-schema", "json-object", "choice", "structural-tag"],
  ["json-schema", "token-grammar"],
);

function isValid(text: string, schema: Json | undefined): boolean {
  return problemWith(text, schema) === undefined;
}

/** Text that looks as if the engine had hidden its markers is parsed on a best-effort basis. */
const ANY_TEXT = { allowHiddenMarkers: true };

describe("whatever the model writes", () => {
  test("a required call ends in a valid call to an offered tool, or in an error", async () => {
    const tools = [offeredTool("get_weather", SCHEMA), offeredTool("get_time")];
    await assert(
      asyncProperty(
        infiniteStream(completion),
        form,
        constraints,
        integer({ min: 1, max: 9 }),
        boolean(),
        async (stream, wire, able, batch, one) => {
          const engine = scriptedEngine(() => stream.next().value, {
            form: wire,
            batch,
            capabilities: { constraints: able },
          });
          const names = one ? ["get_weather"] : tools.map((tool) => tool.name);
          const turn = await finishTurn(
            engine,
            turnWith({ tools, toolChoice: { type: "required", names } }),
            { steering: { ...ANY_TEXT, singleCallConstraint: true } },
          );
          expect(engine.open).toBe(0);
          const valid = turn.parts.filter((part) => {
            const tool = part.kind === "tool-call" && tools.find(({ name }) => name === part.name);
            return tool && names.includes(tool.name) && isValid(part.text, tool.parameters);
          });
          // An engine that ignores the constraint may write a preamble first, which stays in front of the call.
          const shown = turn.parts.filter(
            ({ kind }) => kind !== "reasoning" && kind !== "preamble",
          );
          expect(
            turn.end.finish === "tool-calls"
              ? shown.length > 0 && shown.length === valid.length
              : turn.end.failure?.kind === "invalid_tool_call",
          ).toBe(true);
        },
      ),
      { numRuns: 400 },
    );
  });

  test("an answer with a format is a valid document, or an error", async () => {
    const schema = parseJson(SCHEMA);
    await assert(
      asyncProperty(
        infiniteStream(completion),
        form,
        constraints,
        integer({ min: 1, max: 9 }),
        async (stream, wire, able, batch) => {
          const engine = scriptedEngine(() => stream.next().value, {
            form: wire,
            batch,
            capabilities: { constraints: able },
          });
          const turn = await finishTurn(engine, turnWith({ answer: formedAnswer("out", schema) }), {
            steering: { ...ANY_TEXT, singleCallConstraint: true },
          });
          expect(engine.open).toBe(0);
          const shown = turn.parts.filter((part) => part.kind !== "reasoning");
          const [answer] = shown;
          expect(
            turn.end.finish === "stop"
              ? shown.length === 1 && answer?.kind === "content" && isValid(answer.text, schema)
              : turn.end.failure?.kind === "invalid_answer",
          ).toBe(true);
        },
      ),
      { numRuns: 400 },
    );
  });

  test("a call to a strict tool has valid arguments, or is not emitted", async () => {
    const strict = offeredTool("get_weather", SCHEMA, true);
    await assert(
      asyncProperty(
        infiniteStream(completion),
        form,
        constraints,
        integer({ min: 1, max: 9 }),
        async (stream, wire, able, batch) => {
          const engine = scriptedEngine(() => stream.next().value, {
            form: wire,
            batch,
            capabilities: { constraints: able },
          });
          const turn = await finishTurn(
            engine,
            turnWith({ tools: [strict, offeredTool("get_time")] }),
            { steering: ANY_TEXT },
          );
          const wrong = turn.parts.filter(
            (part) =>
              part.kind === "tool-call" &&
              part.name === strict.name &&
              !isValid(part.text, strict.parameters),
          );
          expect(wrong.length === 0 || turn.end.failure?.kind === "invalid_tool_call").toBe(true);
        },
      ),
      { numRuns: 400 },
    );
  });

  test("a turn never throws, and its events are well formed", async () => {
    await assert(
      asyncProperty(completion, form, integer({ min: 1, max: 9 }), async (write, wire, batch) => {
        let first = true;
        const engine = scriptedEngine(
          () => {
            const script = first ? write : "Done.<|return|>";
            first = false;
            return script;
          },
          { form: wire, batch },
        );
        const turn = await finishTurn(engine, turnWith({ tools: [offeredTool("get_time")] }), {
          steering: ANY_TEXT,
        });
        expect(engine.open).toBe(0);
        expect(["stop", "tool-calls"]).toContain(turn.end.finish);
        for (const [, text] of partsOf(turn)) expect(text).not.toBe("");
      }),
      { numRuns: 400 },
    );
  });
});
