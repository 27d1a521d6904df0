/** The `openai` package must assemble the same answer from a stream as the search's own strict reader. */
import OpenAI from "openai";
import { describe, expect, test } from "vitest";
import type { Observed } from "../../proof/fuzz/turns/apis.ts";
import type { Case } from "../../proof/fuzz/turns/case.ts";
import type { Run } from "../../proof/fuzz/turns/check.ts";
import { generateCase } from "../../proof/fuzz/turns/generate.ts";
import { ask } from "../../proof/fuzz/turns/search.ts";
import { worldFor } from "../../proof/fuzz/turns/world.ts";

const CASES = 60;

/** Streamed runs that ended as a client expects them to. */
async function* completeRuns(
  api: string,
): AsyncGenerator<{ readonly run: Run; readonly observed: Observed }> {
  for (let seed = 1; seed <= CASES; seed++) {
    const given: Case = generateCase(seed, "ids", api);
    const run = await ask(worldFor(given), given, true);
    const { observed } = run;
    const isComplete = observed?.choices.every(({ finish }) => finish !== "error");
    if (observed && observed.error === undefined && isComplete === true) yield { run, observed };
  }
}

function clientFor({ answer }: Run): OpenAI {
  const headers = { "content-type": "text/event-stream" };
  return new OpenAI({
    apiKey: "none",
    baseURL: "http://fuzz.test/v1",
    fetch: () => Promise.resolve(new Response(answer.text, { headers })),
  });
}

describe("openai's stream helpers", () => {
  test("put chat completions together in the same way", async () => {
    let runs = 0;
    for await (const { run, observed } of completeRuns("chat")) {
      runs++;
      const stream = clientFor(run).chat.completions.stream({ model: "fuzz", messages: [] });
      const { choices } = await stream.finalChatCompletion();
      expect(
        choices.map(({ message }) => ({
          content: message.content ?? "",
          calls: (message.tool_calls ?? []).flatMap((call) =>
            call.type === "function" ? [call.function] : [],
          ),
        })),
      ).toMatchObject(
        observed.choices.map(({ content, calls }) => ({
          content,
          calls: calls.map(({ name, args }) => ({ name, arguments: args })),
        })),
      );
    }
    expect(runs).toBeGreaterThan(CASES / 2);
  });

  test("put responses together in the same way", async () => {
    let runs = 0;
    for await (const { run, observed } of completeRuns("responses")) {
      runs++;
      const stream = clientFor(run).responses.stream({ model: "fuzz", input: "" });
      const { output } = await stream.finalResponse();
      const [choice] = observed.choices;
      expect(
        output.flatMap((item) => (item.type === "function_call" ? [item.arguments] : [])),
      ).toEqual(choice?.calls.map(({ args }) => args));
      const texts = output.flatMap((item) =>
        item.type === "message"
          ? item.content.flatMap((part) => ("text" in part ? [part.text] : []))
          : [],
      );
      expect(texts.join("\n\n")).toBe(choice?.content);
    }
    expect(runs).toBeGreaterThan(CASES / 2);
  });
});
