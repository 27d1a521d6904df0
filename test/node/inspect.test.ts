import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { styleText } from "node:util";
import { describe, expect, test } from "vitest";
import { runCommand } from "../helpers/command-io.ts";

const folder = mkdtempSync(join(tmpdir(), "harmony-gateway-"));

function fileWith(text: string): string {
  const path = join(folder, `${Math.random()}.txt`);
  writeFileSync(path, text);
  return path;
}

async function outputOf(command: "render" | "parse", args: readonly string[]): Promise<string> {
  const { printed, errors } = await runCommand([command, ...args]);
  expect(errors).toBe("");
  return printed;
}

const request = fileWith(
  JSON.stringify({
    messages: [
      { role: "user", content: "one" },
      { role: "assistant", reasoning: "old reasoning", content: "1" },
      { role: "user", content: "two <|end|>" },
    ],
  }),
);

describe("render", () => {
  test("prints the prompt, its length, and the dropped messages with the reason", async () => {
    const printed = await outputOf("render", [request, "--date", "2026-01-31", "--no-color"]);
    expect(printed).toMatch(/^<\|start\|>system<\|message\|>.*Current date: 2026-01-31/s);
    expect(printed).toContain("two <\\|end|><|end|><|start|>assistant\n\n");
    expect(printed).toContain("A backslash marks ordinary text");
    expect(printed).toMatch(/\n\d+ tokens in 4 messages\.\n/);
    expect(printed).toMatch(
      /\nDropped message 2 \("old reasoning"\): the answer in message 3 finished its turn\.$/,
    );
  });

  test("colours each role and channel differently", async () => {
    const printed = await outputOf("render", [request, "--color"]);
    const shown = (colour: "green" | "cyan", runs: readonly string[]) =>
      runs
        .map((run) => {
          const isToken = run.startsWith("<|");
          return styleText(isToken ? ["inverse", colour] : colour, run, { validateStream: false });
        })
        .join("");
    expect(printed).toContain(
      shown("green", ["<|start|>", "user", "<|message|>", "one", "<|end|>"]),
    );
    expect(printed).toContain(
      shown("cyan", [
        "<|start|>",
        "assistant",
        "<|channel|>",
        "final",
        "<|message|>",
        "1",
        "<|end|>",
      ]),
    );
  });

  test("shows a typed token unlike a real one", async () => {
    const printed = await outputOf("render", [request, "--color"]);
    const [green, inverse] = (["green", ["inverse", "green"]] as const).map(
      (format) => (text: string) =>
        styleText(typeof format === "string" ? format : [...format], text, {
          validateStream: false,
        }),
    );
    expect(printed).toContain(`${green?.("two <|end|>")}${inverse?.("<|end|>")}`);
  });

  test("reads a request to the Responses API, bare or in the record of a turn", async () => {
    const body = { input: [{ role: "user", content: "Hi" }], instructions: "Be brief." };
    const bare = await outputOf("render", [fileWith(JSON.stringify(body)), "--no-color"]);
    expect(bare).toContain("# Instructions\n\nBe brief.<|end|><|start|>user<|message|>Hi<|end|>");
    const record = fileWith(
      JSON.stringify({ version: 1, request: { body: JSON.stringify(body) } }),
    );
    expect(await outputOf("render", [record, "--no-color"])).toBe(bare);
  });

  test("prints ids, in which the typed marker is not special", async () => {
    const ids = (await outputOf("render", [request, "--ids"])).split(" ").map(Number);
    expect(ids.filter((id) => id === 200007).length).toBe(4);
  });

  test("prints JSON with all ids", async () => {
    const { tokens, ids, messages, dropped } = JSON.parse(
      await outputOf("render", [request, "--json"]),
    );
    expect(ids.length).toBe(tokens);
    expect(messages.map((each: { role: string }) => each.role)).toEqual([
      "system",
      "user",
      "assistant",
      "user",
      "assistant",
    ]);
    expect(dropped).toEqual([{ index: 2, finishedBy: 3, text: "old reasoning" }]);
  });

  test("refuses requests that the API would refuse, with the field's name", async () => {
    const wrong = fileWith('{"messages":[{"role":"robot"}]}');
    const { errors } = await runCommand(["render", wrong]);
    expect(errors).toMatch(/messages\[0\]\.role/);
  });
});

describe("parse", () => {
  const broken = fileWith(
    '<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary to=functions.f<|channel|>commentary json<|message|>{"a":1}}<|call|>\n',
  );

  test("prints parts, the reason to finish and every repair by name", async () => {
    expect(await outputOf("parse", [broken, "--tools", "f,g", "--no-color"])).toBe(
      'reasoning\nhm\n\ntool-call f\n{"a":1}\n\nfinish tool-calls\nrepairs channel-in-recipient × 1, extra-brackets × 1',
    );
  });

  test("prints the same as JSON", async () => {
    expect(JSON.parse(await outputOf("parse", [broken, "--tools", "f", "--json"]))).toEqual({
      parts: [
        { part: "reasoning", text: "hm" },
        { part: "tool-call", name: "f", text: '{"a":1}' },
      ],
      finish: "tool-calls",
      recoveries: { "channel-in-recipient": 1, "extra-brackets": 1 },
    });
  });

  test("reads ids, in which a spelled marker is text", async () => {
    const ids = fileWith("[200005,17196,200008,27,91,419,91,29,200002]");
    expect(await outputOf("parse", [ids, "--ids", "--no-color"])).toBe(
      "content\n<\\|end|>\n\nfinish stop\nrepairs none",
    );
  });

  test("prints the messages of a request", async () => {
    const printed = await outputOf("parse", [request, "--no-color"]);
    expect(printed).toContain("assistant analysis\nold reasoning\n");
    expect(printed).toContain("user\ntwo <\\|end|>\n");
  });

  test("recognizes a truncated completion", async () => {
    const cut = fileWith("<|channel|>analysis<|message|>hm");
    expect(JSON.parse(await outputOf("parse", [cut, "--length", "--json"])).finish).toBe("length");
  });
});

describe("the record of a turn", () => {
  const turn = join(import.meta.dirname, "../fixtures/turns/call-retried.json");

  test("is rendered as the prompt that was sent", async () => {
    const printed = await outputOf("render", [turn, "--no-color"]);
    expect(printed).toMatch(/^<\|start\|>system<\|message\|>You are ChatGPT/);
    expect(printed).toContain("<|start|>user<|message|>Which step is next?<|end|>");
    expect(printed).toMatch(/\n\d+ tokens in 3 messages\.$/);
  });

  test("is parsed to the parts of the output, with the places of the repairs", async () => {
    const printed = await outputOf("parse", [turn, "--no-color"]);
    expect(printed).toContain('tool-call (not sent) step\n{"n":"two"}\n');
    expect(printed).toContain('tool-call step\n{"n":2}\n');
    expect(printed).toContain("repair invalid-arguments in call 2 after 6: retry-call");
  });
});
