import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseJson } from "../../src/harmony/json.ts";
import { whyInvalid } from "../../src/turn/validate.ts";
import { scriptedEngine } from "../helpers/scripted-engine.ts";
import { finishTurn, offeredTool, partsOf, turnWith } from "../helpers/turns.ts";

const SCHEMA = '{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}';

/** What a model might write: pieces of Harmony, right and wrong, in any order. */
const scrap = fc.constantFrom(
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
const completion = fc.oneof(
  fc.array(scrap, { maxLength: 14 }).map((scraps) => scraps.join("")),
  fc.array(fc.integer({ min: 0, max: 201_200 }), { maxLength: 30 }),
);
const form = fc.constantFrom("ids" as const, "pieces" as const, "text" as const);
const constraints = fc.constantFrom(
  [],
  ["json-schema" as const, "json-object" as const, "choice" as const],
);

describe("whatever the model writes", () => {
  test("a required call ends in a valid call to an offered tool, or in an honest error", async () => {
    const tools = [offeredTool("get_weather", SCHEMA), offeredTool("get_time")];
    await fc.assert(
      fc.asyncProperty(
        fc.infiniteStream(completion),
        form,
        constraints,
        fc.integer({ min: 1, max: 9 }),
        fc.boolean(),
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
          );
          expect(engine.open).toBe(0);
          const calls = turn.parts.filter((part) => part.kind === "tool-call");
          if (turn.end.finish !== "tool-calls") {
            expect(turn.end.failure).toBeDefined();
            return;
          }
          expect(calls.length).toBeGreaterThan(0);
          for (const call of calls) {
            expect(names).toContain(call.name);
            const { parameters } = tools.find((tool) => tool.name === call.name) ?? {};
            expect(whyInvalid(call.text, parameters)).toBeUndefined();
          }
        },
      ),
      { numRuns: 400 },
    );
  });

  test("an answer of a form is a valid document, or there is an honest error", async () => {
    const schema = parseJson(SCHEMA);
    await fc.assert(
      fc.asyncProperty(
        fc.infiniteStream(completion),
        form,
        constraints,
        fc.integer({ min: 1, max: 9 }),
        async (stream, wire, able, batch) => {
          const engine = scriptedEngine(() => stream.next().value, {
            form: wire,
            batch,
            capabilities: { constraints: able },
          });
          const turn = await finishTurn(
            engine,
            turnWith({ answer: { type: "json-schema", name: "out", schema } }),
          );
          expect(engine.open).toBe(0);
          if (turn.end.finish === "error") {
            expect(turn.end.failure).toBeDefined();
            return;
          }
          const shown = turn.parts.filter((part) => part.kind !== "reasoning");
          expect(shown.map((part) => part.kind)).toEqual(["content"]);
          expect(whyInvalid(shown[0]?.text ?? "", schema)).toBeUndefined();
        },
      ),
      { numRuns: 400 },
    );
  });

  test("a turn never throws, and its events are well formed", async () => {
    await fc.assert(
      fc.asyncProperty(
        completion,
        form,
        fc.integer({ min: 1, max: 9 }),
        async (write, wire, batch) => {
          let first = true;
          const engine = scriptedEngine(
            () => {
              const script = first ? write : "Done.<|return|>";
              first = false;
              return script;
            },
            { form: wire, batch },
          );
          const turn = await finishTurn(engine, turnWith({ tools: [offeredTool("get_time")] }));
          expect(engine.open).toBe(0);
          expect(["stop", "tool-calls"]).toContain(turn.end.finish);
          for (const [, text] of partsOf(turn)) expect(text).not.toBe("");
        },
      ),
      { numRuns: 400 },
    );
  });
});
