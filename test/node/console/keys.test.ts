import { describe, expect, test } from "vitest";
import { KeyReader, type Keys } from "../../../src/node/console/keys.ts";

function open(keys: Keys) {
  const printed: string[] = [];
  const errors: unknown[] = [];
  const reader = new KeyReader(keys, {
    print: (text) => printed.push(text),
    onError: (error) => errors.push(error),
  });
  return { reader, printed, errors };
}

describe("a letter and Enter", () => {
  test("runs its action with the words behind it, once the line is complete", () => {
    const seen: (readonly string[])[] = [];
    const { reader } = open({ c: { title: "connect", run: (words) => void seen.push(words) } });
    for (const part of ["c", " Codex", "  now", "\n", "\r\nC\r"]) reader.type(part);
    expect(seen).toEqual([["codex", "now"], []]);
  });

  test("h lists them, and another letter says so", () => {
    const { reader, printed } = open({ q: { title: "quit", run: () => {} } });
    reader.type("h\nx\nconstructor\n");
    expect(printed).toEqual([
      "\n  q + Enter   quit\n",
      "  There is no such key. h + Enter lists them.",
      "  There is no such key. h + Enter lists them.",
    ]);
  });

  test("an action that is slow runs once at a time, and one that fails says why", async () => {
    const first = Promise.withResolvers<void>();
    let runs = 0;
    const keys = { d: { title: "examine", run: () => ((runs += 1), first.promise) } };
    const { reader, printed, errors } = open(keys);
    reader.type("d\nd\n");
    expect(printed).toEqual(["  Still busy: examine."]);
    first.reject(new Error("no engine"));
    await expect(first.promise).rejects.toThrow("no engine");
    expect(errors).toEqual([new Error("no engine")]);
    reader.type("d\n");
    expect(runs).toBe(2);
  });

  test("an action that throws at once says why too, and the gateway goes on", () => {
    const { reader, errors } = open({
      e: {
        title: "engines",
        run() {
          throw new Error("no list");
        },
      },
    });
    reader.type("e\n");
    expect(errors).toEqual([new Error("no list")]);
  });

  test("pasted text is bounded", () => {
    let runs = 0;
    const { reader, printed } = open({ e: { title: "engines", run: () => void (runs += 1) } });
    reader.type("e\n".repeat(1000));
    expect(runs).toBe(10);
    reader.type("x".repeat(1_000_000));
    reader.type("\n");
    expect(printed).toHaveLength(1);
  });
});
