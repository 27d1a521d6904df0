import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { styleText } from "node:util";
import { describe, expect, test } from "vitest";
import { runParse } from "../../src/node/inspect-parse.ts";
import { runRender } from "../../src/node/inspect-render.ts";

const folder = mkdtempSync(join(tmpdir(), "harmony-gateway-"));

function fileWith(text: string): string {
  const path = join(folder, `${Math.random()}.txt`);
  writeFileSync(path, text);
  return path;
}

const request = fileWith(
  JSON.stringify({
    messages: [
      { role: "user", content: "one" },
      { role: "assistant", reasoning: "an old thought", content: "1" },
      { role: "user", content: "two <|end|>" },
    ],
  }),
);

describe("render", () => {
  test("prints the prompt, its length, and what was dropped and why", () => {
    const printed = runRender([request, "--date", "2026-01-31", "--no-color"], {});
    expect(printed).toMatch(/^<\|start\|>system<\|message\|>.*Current date: 2026-01-31/s);
    expect(printed).toContain("two <|end|><|end|><|start|>assistant\n\n");
    expect(printed).toMatch(/\n\d+ tokens in 4 messages\.\n/);
    expect(printed).toMatch(
      /\nDropped message 2 \("an old thought"\): the answer in message 3 finished its turn\.$/,
    );
  });

  test("colours each role and channel differently", () => {
    const printed = runRender([request, "--color"], {});
    const painted = (colour: "green" | "cyan", text: string) =>
      styleText(colour, text, { validateStream: false });
    expect(printed).toContain(painted("green", "<|start|>user<|message|>one<|end|>"));
    expect(printed).toContain(
      painted("cyan", "<|start|>assistant<|channel|>final<|message|>1<|end|>"),
    );
  });

  test("prints ids, in which the typed marker is no special one", () => {
    const ids = runRender([request, "--ids"], {}).split(" ").map(Number);
    expect(ids.filter((id) => id === 200007).length).toBe(4);
  });

  test("prints JSON with the ids of it all", () => {
    const { tokens, ids, messages, dropped } = JSON.parse(runRender([request, "--json"], {}));
    expect(ids.length).toBe(tokens);
    expect(messages.map((each: { role: string }) => each.role)).toEqual([
      "system",
      "user",
      "assistant",
      "user",
      "assistant",
    ]);
    expect(dropped).toEqual([{ index: 2, finishedBy: 3, text: "an old thought" }]);
  });

  test("refuses what the API would refuse, with the field's name", () => {
    const wrong = fileWith('{"messages":[{"role":"robot"}]}');
    expect(() => runRender([wrong], {})).toThrow(/messages\[0\]\.role/);
    expect(() => runRender([], {})).toThrow(/one request is needed/);
  });
});

describe("parse", () => {
  const broken = fileWith(
    '<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary to=functions.f<|channel|>commentary json<|message|>{"a":1}}<|call|>\n',
  );

  test("prints parts, the reason to finish and every repair by name", () => {
    expect(runParse([broken, "--tools", "f,g", "--no-color"], {})).toBe(
      'reasoning\nhm\n\ntool-call f\n{"a":1}\n\nfinish tool-calls\nrepairs channel-in-recipient × 1, extra-brackets × 1',
    );
  });

  test("prints the same as JSON", () => {
    expect(JSON.parse(runParse([broken, "--tools", "f", "--json"], {}))).toEqual({
      parts: [
        { part: "reasoning", text: "hm" },
        { part: "tool-call", name: "f", text: '{"a":1}' },
      ],
      finish: "tool-calls",
      recoveries: { "channel-in-recipient": 1, "extra-brackets": 1 },
    });
  });

  test("reads ids, in which a spelled marker is text", () => {
    const ids = fileWith("[200005,17196,200008,27,91,419,91,29,200002]");
    expect(runParse([ids, "--ids", "--no-color"], {})).toBe(
      "content\n<|end|>\n\nfinish stop\nrepairs none",
    );
  });

  test("knows a completion that was cut", () => {
    const cut = fileWith("<|channel|>analysis<|message|>hm");
    expect(JSON.parse(runParse([cut, "--length", "--json"], {})).finish).toBe("length");
  });
});
