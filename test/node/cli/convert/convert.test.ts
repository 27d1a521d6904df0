import { Writable } from "node:stream";
import { linkSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runConvert } from "../../../../src/node/cli/convert/command.ts";
import { convertLine } from "../../../../src/node/cli/convert/convert-line.ts";
import { convertStream, type BadLine } from "../../../../src/node/cli/convert/convert-stream.ts";
import { createRenderer } from "../../../../src/harmony/index.ts";
import { spelledIds } from "../../../helpers/spelled.ts";
import { o200kHarmony } from "../../../../src/tokenizer/index.ts";

const folder = mkdtempSync(join(tmpdir(), "harmony-gateway-convert-"));
const options = {
  from: "chat",
  to: "ids",
  mode: undefined,
  mask: "all",
  maskAs: "both",
  lenient: false,
  strict: false,
  system: { identity: "I" },
  renderer: createRenderer(),
} as const;

const chat = (content: string) =>
  JSON.stringify({
    messages: [
      { role: "user", content: "q" },
      { role: "assistant", reasoning: "t", content },
    ],
  });

/** Runs the command over a text, and returns its output, errors and exit code. */
async function run(args: readonly string[], input: string, isTTY = false) {
  const written = { stdout: "", stderr: "" };
  const into = (name: "stdout" | "stderr") =>
    Object.assign(
      new Writable({
        write(chunk, _, done) {
          written[name] += String(chunk);
          done();
        },
      }),
      { isTTY },
    );
  let time = 0;
  const code = await runConvert(args, {
    stdin: cut(Buffer.from(input), 7),
    stdout: into("stdout"),
    stderr: into("stderr"),
    environment: {},
    now: () => (time += 1000),
  });
  return { code, ...written, lines: written.stdout.split("\n").filter((line) => line !== "") };
}

async function* cut(bytes: Buffer, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

describe("convert", () => {
  test("writes ids, labels and mask for a trainer, with the model's stop token at the end", async () => {
    const { code, lines } = await run(
      ["--from", "chat", "--to", "ids", "--mask", "all"],
      chat("a"),
    );
    expect(code).toBe(0);
    const { input_ids: ids, labels, mask } = JSON.parse(lines[0] ?? "");
    const counted = ids.filter((_: number, at: number) => mask[at] === 1);
    expect(o200kHarmony().decode(counted)).toBe(
      "<|channel|>analysis<|message|>t<|end|><|start|>assistant<|channel|>final<|message|>a<|return|>",
    );
    expect(labels).toEqual(ids.map((id: number, at: number) => (mask[at] === 1 ? id : -100)));
  });

  test("continues after a bad line, and reports its number and the reason", async () => {
    const bad = join(folder, "bad.jsonl");
    const input = [chat("a"), "{", '{"messages":[{"role":"robot"}]}', "", chat("b")].join("\n");
    const { code, lines, stderr } = await run(
      ["--from", "chat", "--to", "harmony", "--bad", bad],
      input,
    );
    expect([code, lines.length]).toEqual([1, 2]);
    expect(stderr).toMatch(/5 lines: 2 converted, 2 bad/);
    const written = readFileSync(bad, "utf8").trim().split("\n");
    expect(written.map((line) => JSON.parse(line))).toMatchObject([
      { line: 2, code: "E-JSON" },
      { line: 3, code: "E-REQUEST", message: expect.stringContaining("messages[0].role") },
    ]);
  });

  test("reports losses, and refuses such lines with --strict", async () => {
    const losses = join(folder, "losses.jsonl");
    const document = JSON.stringify({
      text: "<|start|>assistant<|channel|>commentary<|message|>x<|return|>",
    });
    const args = ["--from", "openchatml", "--to", "ids"];
    const { stderr } = await run([...args, "--losses", losses], document);
    expect(stderr).toMatch(/Lost: hidden-commentary × 1, return × 1/);
    expect(JSON.parse(readFileSync(losses, "utf8"))).toEqual({
      line: 1,
      losses: ["hidden-commentary", "return"],
    });
    const strict = await run([...args, "--strict"], document);
    expect(strict.code).toBe(1);
    expect(strict.stderr).toContain("E-LOSSY");
  });

  test("shows progress on a terminal, and nowhere else", async () => {
    const args = ["--from", "chat", "--to", "ids"];
    expect((await run(args, chat("a"), true)).stderr).toContain("MB/s");
    expect((await run(args, chat("a"))).stderr).not.toContain("MB/s");
  });

  test("reads <think> before an answer as reasoning, and says so", () => {
    const user = { role: "user", content: "q" };
    const tagged = { role: "assistant", content: "<think>t</think>a" };
    const there = convertLine(JSON.stringify({ messages: [user, tagged] }), options);
    const chatAgain = { ...options, from: "harmony", to: "chat" } as const;
    expect(there.losses).toEqual(["reasoning-tag"]);
    expect(JSON.parse(convertLine(there.line, chatAgain).line).messages).toEqual([
      user,
      { role: "assistant", reasoning: "t", content: "a" },
    ]);
    const text = "<|start|>assistant<|channel|>final<|message|><think>t</think>a<|return|>";
    expect(convertLine(JSON.stringify({ text }), chatAgain).losses).toContain("reasoning-tag");
  });

  test("makes the name of a function fit into a header, and says so", () => {
    const call = { id: "c", type: "function", function: { name: "f to=user", arguments: "{}" } };
    const messages = [{ role: "assistant", content: null, tool_calls: [call] }];
    const { line, losses } = convertLine(JSON.stringify({ messages }), {
      ...options,
      to: "harmony",
    });
    expect(losses).toEqual(["call-id", "tool-name"]);
    expect(line).toContain(" to=functions.f_to_user<|channel|>");
  });

  describe("results of parallel calls", () => {
    const call = (id: string, city: string) => ({
      id,
      type: "function",
      function: { name: "f", arguments: JSON.stringify({ city }) },
    });
    const assistant = {
      role: "assistant",
      content: null,
      tool_calls: [call("call_1", "Paris"), call("call_2", "Tokyo")],
    };
    const result = (id: string, content: string) => ({ role: "tool", content, tool_call_id: id });
    const user = { role: "user", content: "q" };

    /** Converts the messages to ids and back. */
    function thereAndBack(messages: readonly object[]) {
      const there = convertLine(JSON.stringify({ messages }), options);
      const back = convertLine(there.line, { ...options, from: "harmony", to: "chat" });
      return { lost: there.losses, messages: JSON.parse(back.line).messages };
    }

    test("come back with their calls, in the order of the calls", () => {
      const sent = [user, assistant, result("call_2", "9 C"), result("call_1", "18 C")];
      expect(thereAndBack(sent)).toEqual({
        lost: ["call-id", "replies-reordered"],
        messages: [user, assistant, result("call_1", "18 C"), result("call_2", "9 C")],
      });
    });

    test("come back as they are if they are in order", () => {
      const sent = [user, assistant, result("call_1", "18 C"), result("call_2", "9 C")];
      expect(thereAndBack(sent)).toEqual({ lost: ["call-id"], messages: sent });
    });

    test("are completed by a notice for a call that has none", () => {
      expect(thereAndBack([user, assistant, result("call_2", "9 C")])).toEqual({
        lost: ["call-id", "reply-added"],
        messages: [
          user,
          assistant,
          result("call_1", "No result was returned for this call."),
          result("call_2", "9 C"),
        ],
      });
    });

    test("are joined if one call has several", () => {
      const sent = [user, assistant, result("call_1", "18 C"), result("call_1", "sunny")];
      expect(thereAndBack([...sent, result("call_2", "9 C")])).toEqual({
        lost: ["call-id", "replies-joined"],
        messages: [user, assistant, result("call_1", "18 C\n\nsunny"), result("call_2", "9 C")],
      });
    });
  });

  test("keeps the ids of calls if the format has a field for them", async () => {
    const call = { id: "abc", type: "function", function: { name: "f", arguments: "{}" } };
    const input = JSON.stringify({
      messages: [
        { role: "user", content: "q" },
        { role: "assistant", content: null, tool_calls: [call] },
        { role: "tool", tool_call_id: "abc", content: "r" },
      ],
    });
    const document = await run(["--from", "chat", "--to", "openchatml"], input);
    expect(document.stdout).toContain("call_id=abc");
    const { lines } = await run(["--from", "openchatml", "--to", "chat"], document.stdout);
    expect(JSON.parse(lines[0] ?? "").messages.slice(1)).toEqual(
      JSON.parse(input).messages.slice(1),
    );
  });

  test("reads a request to the Responses API, and the record of a turn", async () => {
    const body = { model: "m", instructions: "Be brief.", input: "Hi" };
    const plain = JSON.stringify(body);
    const record = JSON.stringify({ request: { path: "/v1/responses", body } });
    const { lines } = await run(["--from", "chat", "--to", "harmony"], `${plain}\n${record}\n`);
    expect(lines[0]).toContain(
      "# Instructions\\n\\nBe brief.<|end|><|start|>user<|message|>Hi<|end|>",
    );
    expect(lines[1]).toBe(lines[0]);
  });

  test("reads a request to the Messages API, by its members or by the path of its record", async () => {
    const weather = { name: "weather", input_schema: { type: "object", properties: {} } };
    const messages = [
      { role: "user", content: "Is it warm?" },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "Look it up.", signature: "" },
          { type: "tool_use", id: "toolu_1", name: "weather", input: { city: "Rome" } },
        ],
      },
      {
        role: "user",
        content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "12 degrees" }],
      },
    ];
    const body = { model: "m", max_tokens: 9, system: "Be brief.", tools: [weather], messages };
    const short = { model: "m", max_tokens: 9, messages: messages.slice(1) };
    const lines = [body, { request: { path: "/v1/messages", body: short } }];
    const input = lines.map((line) => JSON.stringify(line)).join("\n");
    const { lines: read } = await run(["--from", "chat", "--to", "harmony"], input);
    const [plain = "", recorded = ""] = read.map((line): string => JSON.parse(line).text);
    const loop =
      "<|start|>assistant<|channel|>analysis<|message|>Look it up.<|end|><|start|>assistant<|channel|>commentary " +
      'to=functions.weather <|constrain|>json<|message|>{"city":"Rome"}<|call|><|start|>functions.weather ' +
      "to=assistant<|channel|>commentary<|message|>12 degrees<|end|>";
    expect(plain).toContain("# Instructions\n\nBe brief.\n\n# Tools");
    expect(plain).toContain(`<|start|>user<|message|>Is it warm?<|end|>${loop}`);
    expect(recorded).toContain(loop);
  });

  test("in mode prompt drops finished analysis and opens the answer", async () => {
    const input = JSON.stringify({
      messages: [...JSON.parse(chat("a")).messages, { role: "user", content: "r" }],
    });
    const args = ["--from", "chat", "--to", "harmony", "--mode", "prompt"];
    const { text } = JSON.parse((await run(args, input)).lines[0] ?? "");
    expect(text).toMatch(
      /<\|message\|>a<\|end\|><\|start\|>user<\|message\|>r<\|end\|><\|start\|>assistant$/,
    );
    expect(text).not.toContain("analysis<|message|>");
  });

  test("breaks typed markers in a text, and reports it", async () => {
    const { stdout, stderr } = await run(["--from", "chat", "--to", "harmony"], chat("<|end|>"));
    expect(stdout).toContain("<\u200b|end|>");
    expect(stderr).toContain("typed-markers × 1");
  });

  describe("a transcript that ends inside a message", () => {
    const head = "<|start|>user<|message|>q<|end|>";
    const thought = "<|start|>assistant<|channel|>analysis<|message|>t<|end|>";
    const half = "<|start|>assistant<|channel|>final<|message|>Half a sen";
    const line = (text: string) => JSON.stringify({ text });
    const bad = async (args: readonly string[], input: string) => {
      const { code, lines, stderr } = await run(["--from", "harmony", ...args], input);
      expect([code, lines]).toEqual([1, []]);
      return JSON.parse(stderr.split("\n")[0] ?? "");
    };

    test.each(["ids", "harmony", "chat", "openchatml"])("is a bad line, to %s", async (to) => {
      const text = head + half;
      const message = `missing-end at character ${text.length}`;
      for (const args of [
        ["--to", to],
        ["--to", to, "--strict"],
        ["--to", to, "--mode", "prompt"],
      ]) {
        expect(await bad(args, line(text))).toEqual({ line: 1, code: "E-HARMONY", message });
      }
      const ids = spelledIds(text);
      expect(await bad(["--to", to], JSON.stringify({ input_ids: ids }))).toEqual({
        line: 1,
        code: "E-HARMONY",
        message: `missing-end at token ${ids.length}`,
      });
    });

    test("is a bad line wherever it is cut, but before and behind the role of the next message", async () => {
      const whole = head + thought;
      const ids = spelledIds(whole);
      const cuts = [
        ...Array.from(whole, (_, at) => [whole.slice(0, at + 1), line(whole.slice(0, at + 1))]),
        ...ids.map((_, at) => {
          const read = ids.slice(0, at + 1);
          return [o200kHarmony().decode(read), JSON.stringify({ input_ids: read })];
        }),
      ];
      const accepted = new Set(["<|start|>user", head, `${head}<|start|>assistant`, whole]);
      const input = cuts.map(([, each]) => each).join("\n");
      const { stderr } = await run(["--from", "harmony", "--to", "harmony", "--strict"], input);
      const refused = stderr.split("\n").filter((each) => each.startsWith("{"));
      const lines = new Map(refused.map((each) => [JSON.parse(each).line, JSON.parse(each).code]));
      expect(cuts.map(([text], at) => [text, lines.get(at + 1)])).toEqual(
        cuts.map(([text = ""]) => [text, accepted.has(text) ? undefined : "E-HARMONY"]),
      );
    });

    test.each(["<|chan", " to=functions.f", "<|channel|>", "<|channel|>final"])(
      "whose header is cut, at %s, loses it with --lenient, and says so",
      async (cutAt) => {
        const text = `${head}<|start|>assistant${cutAt}`;
        const args = ["--from", "harmony", "--to", "harmony", "--lenient"];
        const { lines, stderr } = await run(args, line(text));
        expect(lines.map((each) => JSON.parse(each))).toEqual([{ text: head }]);
        expect(stderr).toContain("Lost: cut-header × 1.");
      },
    );

    test("stays open with --lenient, is masked, and is reported", async () => {
      const text = head + thought + half;
      const args = ["--from", "harmony", "--to", "ids", "--mask", "all", "--lenient"];
      const { code, lines, stderr } = await run(args, line(text));
      const { input_ids: ids, labels, mask } = JSON.parse(lines[0] ?? "");
      expect(code).toBe(0);
      expect(o200kHarmony().decode(ids)).toBe(text);
      const counted = ids.filter((_: number, at: number) => mask[at] === 1);
      expect(o200kHarmony().decode(counted)).toBe("<|channel|>analysis<|message|>t<|end|>");
      expect(labels).toEqual(ids.map((id: number, at: number) => (mask[at] === 1 ? id : -100)));
      expect(stderr).toBe("1 line: 1 converted, 0 bad. Lost: missing-end × 1.\n");
    });

    test.each(["history", "training", "prompt"])(
      "stays open in mode %s, through chat too",
      async (mode) => {
        const args = ["--mode", mode, "--lenient"];
        const expected = `${mode === "prompt" ? head : head + thought}${half}`;
        const there = await run(
          ["--from", "harmony", "--to", "harmony", ...args],
          line(head + thought + half),
        );
        expect(JSON.parse(there.lines[0] ?? "")).toEqual({ text: expected });
        const chatLine = await run(["--from", "harmony", "--to", "chat", ...args], line(expected));
        const back = await run(["--from", "chat", "--to", "harmony", ...args], chatLine.stdout);
        expect(JSON.parse(back.lines[0] ?? "").text).toMatch(/^<\|start\|>system/);
        expect(JSON.parse(back.lines[0] ?? "").text.endsWith(`<|end|>${expected}`)).toBe(true);
        expect(back.stderr).toContain("Lost: missing-end × 1.");
      },
    );

    test("is partial in chat, which is a bad line without --lenient", async () => {
      const chatLine = await run(
        ["--from", "harmony", "--to", "chat", "--lenient"],
        line(head + half),
      );
      expect(JSON.parse(chatLine.lines[0] ?? "")).toEqual({
        messages: [
          { role: "user", content: "q" },
          { role: "assistant", content: "Half a sen", partial: true },
        ],
      });
      const { code, stderr } = await run(["--from", "chat", "--to", "ids"], chatLine.stdout);
      expect([code, JSON.parse(stderr.split("\n")[0] ?? "")]).toEqual([
        1,
        { line: 1, code: "E-REQUEST", message: "the last message is partial" },
      ]);
    });

    test("is a truncated document in OpenChatML", async () => {
      const document = await run(
        ["--from", "harmony", "--to", "openchatml", "--lenient"],
        line(head + half),
      );
      expect(JSON.parse(document.lines[0] ?? "").text).toMatch(/<\|message\|>Half a sen$/);
      const { stderr } = await run(["--from", "openchatml", "--to", "ids"], document.stdout);
      expect(JSON.parse(stderr.split("\n")[0] ?? "")).toEqual({
        line: 1,
        code: "E-STREAM-TRUNCATED",
        message: "E-STREAM-TRUNCATED (message 1, byte 141): the input ends inside a body",
      });
    });

    test("is masked within a transcript too", async () => {
      const text = `${head}${half}<|start|>user<|message|>r<|end|>${thought}`;
      const args = ["--from", "harmony", "--to", "ids", "--mask", "all", "--lenient"];
      const { lines } = await run(args, line(text));
      const { input_ids: ids, mask } = JSON.parse(lines[0] ?? "");
      const counted = ids.filter((_: number, at: number) => mask[at] === 1);
      expect(o200kHarmony().decode(counted)).toBe("<|channel|>analysis<|message|>t<|end|>");
    });
  });

  test.each([
    [["--from", "chat"], /--to/],
    [["--from", "chat", "--to", "harmony", "--mask", "all"], /--mask/],
    [["--from", "chat", "--to", "chat", "a", "b"], /one input/],
    [["--from", "nothing", "--to", "chat"], /--from/],
  ])("explains the mistake in %j", async (args, problem) => {
    await expect(run(args, "")).rejects.toThrow(problem);
  });

  test("reads a file and writes one", async () => {
    const [from, to] = [join(folder, "in.jsonl"), join(folder, "out.jsonl")];
    writeFileSync(from, `${chat("a")}\n${chat("b")}`);
    await run([from, "--from", "chat", "--to", "ids", "--out", to], "");
    expect(readFileSync(to, "utf8").split("\n")).toHaveLength(3);
  });
});

test("buffers at most one line and one batch, however long the input", async () => {
  const line = Buffer.from(`${chat("word ".repeat(2000))}\n`);
  const [total, held] = [{ lines: 0 }, { most: 0, now: 0 }];
  async function* input() {
    for (let index = 0; index < 500; index++) {
      held.now += line.length;
      held.most = Math.max(held.most, held.now);
      yield line;
    }
  }
  const report = await convertStream(options, {
    input: input(),
    write: async (text) => {
      total.lines += text.split("\n").length - 1;
      held.now = 0;
    },
    onBadLine: async () => {},
    onLosses: async () => {},
    onProgress: () => {},
    maxLineBytes: 1 << 20,
  });
  expect([report.converted, total.lines]).toEqual([500, 500]);
  expect(held.most).toBeLessThan(1 << 20);
});

test("a line that is too long is bad and is not kept, and the next one is read", async () => {
  const bad: BadLine[] = [];
  const report = await convertStream(options, {
    input: cut(Buffer.from(`${chat("x".repeat(5000))}\n\u{1F600}\n${chat("a")}`), 100),
    write: async () => {},
    onBadLine: async (line) => void bad.push(line),
    onLosses: async () => {},
    onProgress: () => {},
    maxLineBytes: 1000,
  });
  expect(bad.map(({ line, code }) => [line, code])).toEqual([
    [1, "E-LINE-LENGTH"],
    [2, "E-JSON"],
  ]);
  expect(bad[0]?.message).toBe("the line is longer than 1000 bytes");
  expect(report.converted).toBe(1);
});

test.each([
  ["chat", Buffer.from([0x22, 0xff, 0x22]), "the line is not UTF-8"],
  [
    "harmony",
    Buffer.from("5"),
    'expected Harmony as {"text": …}, {"input_ids": […]} or either alone',
  ],
  ["openchatml", Buffer.from("5"), 'expected OpenChatML as {"text": …}, or as a text alone'],
] as const)(
  "a line that is no %s is bad, and the message says what is expected",
  async (from, line, message) => {
    const bad: BadLine[] = [];
    await convertStream(
      { ...options, from },
      {
        input: cut(line, 100),
        write: async () => {},
        onBadLine: async (each) => void bad.push(each),
        onLosses: async () => {},
        onProgress: () => {},
        maxLineBytes: 1000,
      },
    );
    expect(bad.map((each) => each.message)).toEqual([message]);
  },
);

test("any request is recovered from its conversation, or the loss is reported", () => {
  const text = fc.string({ maxLength: 6 });
  const call = fc.record({
    name: fc.constantFrom("f", "g"),
    args: fc.constantFrom("{}", '{"a":1}'),
  });
  const turn = fc.record({
    question: text,
    analysis: fc.option(text),
    said: text,
    calls: fc.array(call, { maxLength: 3 }),
    answer: fc.option(text),
  });
  fc.assert(
    fc.property(fc.array(turn, { minLength: 1, maxLength: 4 }), (turns) => {
      const messages = turns.flatMap(({ question, analysis, said, calls, answer }, at) => [
        { role: "user", content: question },
        {
          role: "assistant",
          content: said,
          reasoning: analysis,
          ...(calls.length > 0 && {
            tool_calls: calls.map(({ name, args }, index) => ({
              id: `${at}-${index}`,
              type: "function",
              function: { name, arguments: args },
            })),
          }),
        },
        ...calls.map((_, index) => ({
          role: "tool",
          tool_call_id: `${at}-${index}`,
          content: "r",
        })),
        ...(answer === null ? [] : [{ role: "assistant", content: answer }]),
      ]);
      const line = JSON.stringify({ messages });
      const { line: back, losses } = convertLine(line, { ...options, to: "chat" });
      const ids = (each: string) => convertLine(each, options).line;
      expect(losses).toEqual([]);
      expect(ids(back)).toBe(ids(line));
    }),
    { numRuns: 300 },
  );
});

describe("S26: a file that is read is not written", () => {
  const input = join(folder, "same.jsonl");
  const hardLink = join(folder, "hard.jsonl");
  const softLink = join(folder, "soft.jsonl");
  writeFileSync(input, `${chat("a")}\n`);
  linkSync(input, hardLink);
  symlinkSync(input, softLink);
  const toIds = ["--from", "chat", "--to", "ids"];

  test.each([
    ["--out", input],
    ["--bad", input],
    ["--losses", input],
    ["--out", hardLink],
    ["--out", softLink],
  ])("%s", async (flag, path) => {
    await expect(run([input, ...toIds, flag, path], "")).rejects.toThrow(
      new TypeError(`${flag} ${path}: is the same file as the input.`),
    );
    expect(readFileSync(input, "utf8")).toBe(`${chat("a")}\n`);
  });

  test("nor are two outputs one file, also one that does not exist yet", async () => {
    const path = join(folder, "both.jsonl");
    await expect(run([input, ...toIds, "--out", path, "--bad", path], "")).rejects.toThrow(
      new TypeError(`--bad ${path}: is the same file as --out.`),
    );
  });

  test("an input that does not exist empties no output", async () => {
    const path = join(folder, "kept.jsonl");
    writeFileSync(path, "kept");
    await expect(run([join(folder, "none"), ...toIds, "--out", path], "")).rejects.toThrow(
      "ENOENT",
    );
    expect(readFileSync(path, "utf8")).toBe("kept");
  });
});
