import { expect, test } from "vitest";
import type { Recovery } from "../../src/harmony/index.ts";
import { o200kHarmony } from "../../src/tokenizer/index.ts";
import { readIds, readText } from "./parse-cases.ts";

const answer = "<|channel|>final<|message|>x<|return|>";
const analysis = "<|channel|>analysis<|message|>x<|end|>";
const call = "<|channel|>commentary to=functions.f<|message|>";

/** The shortest completion that needs each repair. The type demands one of every name. */
const completions: Record<Exclude<Recovery, "spelled-markers" | "functions-prefix">, string> = {
  "dropped-token": "<|channel|>final<|message|>a<|reserved_200500|>b<|return|>",
  "repeated-start": `<|start|>assistant${answer}`,
  "stray-terminator": `<|end|>`,
  "missing-start": `${analysis}${answer}`,
  "implicit-close": `<|channel|>analysis<|message|>x<|start|>assistant${answer}`,
  "stray-marker": "<|channel|>final<|message|>a<|message|>b<|return|>",
  "text-outside": `${analysis}Four.`,
  "continued-after-return": `<|channel|>analysis<|message|>x<|return|><|start|>assistant${answer}`,
  "after-call": `${call}{}<|call|>commentary`,
  "after-end": `${answer}more`,
  "imagined-turn": `${analysis}<|start|>user<|message|>`,
  "imagined-tool-result": `${analysis}<|start|>functions.f to=assistant<|message|>`,
  "header-without-body": "<|channel|>analysis<|end|>",
  "lost-markers": "analysisThink.assistantfinalFour.",
  "odd-role": `${analysis}<|start|>Assistant${answer}`,
  "odd-channel": "<|channel|>Final<|message|>x",
  "several-channels": "<|channel|>commentary<|channel|>final<|message|>x",
  "channel-in-recipient": "<|channel|>commentary to=f<|channel|>commentary<|message|>{}",
  "odd-recipient": "<|channel|>commentary to=fjson<|message|>{}",
  "missing-to": "<|channel|>commentary f<|message|>{}",
  "missing-message": "<|channel|>final x<|return|>",
  "long-header": `<|channel|>final ${"word ".repeat(100)}`,
  "garbled-header": "<|channel|>commentary?We need it.<|end|>",
  "unoffered-tool": "<|channel|>commentary to=g<|message|>{}",
  "tool-without-tools": "",
  "lost-tool-name": "<|channel|>commentary to=<|message|>{}",
  "extra-brackets": `${call}{}}<|call|>`,
};

test.each(Object.entries(completions))("%s is counted for %j", (name, completion) => {
  const { recoveries } =
    name === "tool-without-tools"
      ? readText(`${call}{}`)
      : readText(completion, "stop", { toolNames: ["f"] });
  expect(new Map<string, number>(recoveries).get(name)).toBe(1);
});

test("repeated-start is counted in a later header, too", () => {
  const { recoveries } = readText(`${analysis}<|start|>assistant<|start|>assistant${answer}`);
  expect(recoveries).toEqual([["repeated-start", 1]]);
});

test.each([" to=functions", " to=functions.f", "to=", " to = functions"])(
  "a completion that is cut within the header %j is not an answer",
  (header) => {
    for (const before of ["", `${analysis}<|start|>assistant`]) {
      const { parts } = readText(before + header, "length");
      expect(parts.filter(({ type }) => type !== "reasoning")).toEqual([]);
    }
  },
);

test("spelled-markers is counted for ids that spell all markers", () => {
  const { recoveries } = readIds(o200kHarmony().encode(answer));
  expect(recoveries).toEqual([["spelled-markers", 1]]);
});

test("repairs are counted each time, in order of first use", () => {
  const { recoveries } = readText(`<|end|><|end|>${analysis}${answer}`);
  expect(recoveries).toEqual([
    ["stray-terminator", 2],
    ["missing-start", 1],
  ]);
});
