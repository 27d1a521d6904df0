import * as fc from "fast-check";
import { expect, test } from "vitest";
import { BodyMemory, type ReadBody } from "../../../src/api/request/body-memory.ts";
import { MemoryBudget } from "../../../src/harmony/text-memory.ts";
import { appOf } from "../../helpers/app.ts";
import { testSettings } from "../../helpers/gateway.ts";
import { scriptedEngine } from "../../helpers/scripted-engine.ts";
import { anyCharacter } from "../../helpers/any-character.ts";

const NAMES = ["messages"];
const FILLER = "x".repeat(16_384);

function createMemory(maxBytes = 64_000_000): BodyMemory {
  return new BodyMemory(new MemoryBudget(maxBytes));
}

function toBuffer(text: string): ArrayBuffer {
  return new TextEncoder().encode(text).buffer;
}

function read(memory: BodyMemory, text: string, tenant = "a"): ReadBody {
  return memory.read(toBuffer(text), NAMES, tenant);
}

/** The value with the order of its keys, and the text. */
const shown = (body: ReadBody) => [JSON.stringify(body.value), body.text()];
const whole = (text: string) => [JSON.stringify(JSON.parse(text)), text];

const user = (content: string) => ({ role: "user", content });
const opening = [user(FILLER), user("one"), user("two")];
const bodyOf = (messages: readonly object[]) => JSON.stringify({ model: "m", messages, n: 1 });
const messagesOf = (body: ReadBody) => Reflect.get(body.value, "messages");

test("messages that were sent before are not parsed again", () => {
  const memory = createMemory();
  const first = read(memory, bodyOf(opening));
  const text = bodyOf([...opening, user("three")]);
  const next = read(memory, text);
  expect(shown(next)).toEqual(whole(text));
  expect(next.outline).not.toContain("xxxx");
  expect(next.outline).toContain("three");
  opening.forEach((_, at) => expect(messagesOf(next)[at]).toBe(messagesOf(first)[at]));
});

test("a changed byte in an old message is read, wherever it is", () => {
  const memory = createMemory();
  const text = bodyOf([...opening, user("three")]);
  read(memory, text);
  for (let at = 0; at < text.length; at += at < 60 || at > text.length - 120 ? 1 : 997) {
    if (!/[a-z]/.test(text[at]!)) continue;
    const changed = `${text.slice(0, at)}${text[at] === "q" ? "r" : "q"}${text.slice(at + 1)}`;
    expect(shown(read(memory, changed))).toEqual(whole(changed));
  }
});

test.each<[string, (messages: readonly object[]) => object]>([
  ["chat/completions", (messages) => ({ messages })],
  ["responses", (input) => ({ input, store: false })],
  ["messages", (messages) => ({ messages, max_tokens: 8 })],
])("the prompt of /v1/%s is that of the body", async (path, toBody) => {
  const final = "<|channel|>final<|message|>Yes.<|return|>";
  const engine = scriptedEngine(() => final);
  const app = appOf(testSettings(), [{ id: "gpt-oss", engine }], { now: () => 0 });
  const send = async (messages: readonly object[]) => {
    const body = JSON.stringify({ model: "gpt-oss", ...toBody(messages) });
    const headers = { "content-type": "application/json" };
    const response = await app.request(`/v1/${path}`, { method: "POST", body, headers });
    expect(response.status).toBe(200);
    await response.text();
  };
  const long = [...opening, user("three")];
  await send(long);
  await send([...long, user("four")]);
  const changed = [user(`y${FILLER.slice(1)}`), ...long.slice(1)];
  await send([...changed, user("four")]);
  const [first = "", second = "", third = ""] = engine.prompts;
  const end = "<|start|>assistant";
  const added = `<|start|>user<|message|>four<|end|>${end}`;
  expect(second).toBe(first.slice(0, -end.length) + added);
  expect(third).toBe(second.replace(FILLER, `y${FILLER.slice(1)}`));
});

test("two conversations with the same beginning continue side by side", () => {
  const memory = createMemory();
  const ends = ["a", "b"].map((name) => [...opening, user(`only in ${name}`)]);
  for (let turn = 0; turn < 3; turn++) {
    for (const messages of ends) {
      const text = bodyOf(messages);
      const body = read(memory, text);
      expect(shown(body)).toEqual(whole(text));
      expect(body.outline.includes("xxxx")).toBe(turn === 0 && messages === ends[0]);
      messages.push(user(`turn ${turn}`));
    }
  }
});

test("a tenant's messages are not found by another", () => {
  const memory = createMemory();
  const text = bodyOf(opening);
  const first = read(memory, text, "a");
  const second = read(memory, text, "b");
  expect(shown(second)).toEqual(whole(text));
  expect(messagesOf(second)[0]).not.toBe(messagesOf(first)[0]);
});

test("what is larger than the budget is not kept", () => {
  const memory = createMemory(1000);
  const first = read(memory, bodyOf(opening));
  const second = read(memory, bodyOf(opening));
  expect(messagesOf(second)[0]).not.toBe(messagesOf(first)[0]);
});

test("unused conversations are forgotten", () => {
  const memory = createMemory(400_000);
  const text = bodyOf(opening);
  const first = read(memory, text);
  for (let other = 0; other < 20; other++) {
    read(memory, bodyOf([user(FILLER), user(`other ${other}`), user("two")]));
  }
  expect(messagesOf(read(memory, text))[0]).not.toBe(messagesOf(first)[0]);
});

test.each([
  ["a second list with the same name counts", `{"messages":LIST,"messages":[1]}`],
  ["even if its name is spelled with escapes", `{"messages":LIST,"m\\u0065ssages":[{"a":1}]}`],
  ["a list inside of another member is none of messages", `{"a":{"messages":LIST},"messages":[2]}`],
  ["messages may follow other members", `{"a":"]}{\\"","b":[{"c":[1,"]"]}],"messages":LIST}`],
  ["space may be anywhere", ` {\n"messages" : LIST\t, "b" : null } `],
  ["a name like a prototype's is a member", `{"__proto__":{"a":1},"messages":LIST}`],
])("%s", (_, template) => {
  const memory = createMemory();
  const list = JSON.stringify([...opening, { deep: [{ a: '\\"' }, "é“😀"] }], undefined, 1);
  const text = template.replace("LIST", () => list);
  for (let time = 0; time < 3; time++) expect(shown(read(memory, text))).toEqual(whole(text));
  const longer = template.replace("LIST", () => `${list.slice(0, -1)},"text",3]`);
  for (let time = 0; time < 2; time++) expect(shown(read(memory, longer))).toEqual(whole(longer));
});

test("text that is no JSON is refused as JSON.parse refuses the whole of it", () => {
  const memory = createMemory();
  const text = bodyOf([...opening, user("three")]);
  read(memory, text);
  for (const cut of [text.length - 1, text.length - 30, text.length - 9]) {
    const broken = text.slice(0, cut);
    let reason = "";
    try {
      JSON.parse(broken);
    } catch (error) {
      reason = String(error).replace("SyntaxError: ", "");
    }
    expect(() => read(memory, broken)).toThrow(
      expect.objectContaining({
        status: 400,
        message: `The request body is not valid JSON: ${reason}`,
      }),
    );
  }
});

test("a byte order mark between messages is refused, as everywhere but at the beginning", () => {
  const memory = createMemory();
  const text = bodyOf(opening);
  read(memory, text);
  const odd = text.replace('"two"}', '"two"}\uFEFF');
  expect(odd).not.toBe(text);
  expect(() => read(memory, odd)).toThrow("not valid JSON");
});

test("bytes that are no UTF-8, and a byte order mark, are read as Request.text() does", async () => {
  const memory = createMemory();
  const [before = "", after = ""] = bodyOf([...opening, user("@")]).split("@");
  for (const odd of [[0xff], [0xef, 0xbb, 0xbf], [0xe2, 0x82], [0xed, 0xa0, 0x80]]) {
    const bytes = Buffer.concat([Buffer.from(before), Buffer.from(odd), Buffer.from(after)]);
    const marked = Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), bytes]);
    for (const sent of [bytes, bytes, marked]) {
      const text = await new Response(sent).text();
      expect(shown(memory.read(new Uint8Array(sent).buffer, NAMES, "a"))).toEqual(whole(text));
    }
  }
});

test("any sequence of bodies is read as JSON.parse reads each", () => {
  const value = fc.letrec((tie) => ({
    any: fc.oneof(
      { maxDepth: 3 },
      fc.string({ unit: anyCharacter }),
      fc.constantFrom("]", "}", '"', "\\", "messages", "[{"),
      fc.integer(),
      fc.constantFrom(null, true),
      fc.array(tie("any"), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom("a", "messages", "]"), tie("any"), { maxKeys: 3 }),
    ),
  })).any;
  const message = fc.oneof(
    { weight: 9, arbitrary: fc.record({ role: fc.constantFrom("user", "tool"), content: value }) },
    { weight: 1, arbitrary: value },
  );
  const step = fc.record({
    keep: fc.integer({ min: 0, max: 8 }),
    added: fc.array(message, { maxLength: 3 }),
    before: fc.option(value),
    after: fc.option(value),
    indent: fc.constantFrom(0, 2),
  });
  const property = fc.property(fc.array(step, { maxLength: 8 }), (steps) => {
    const memory = createMemory();
    let messages: unknown[] = [{ content: FILLER }, { a: 1 }, { b: 2 }];
    for (const { keep, added, before, after, indent } of steps) {
      messages = [...messages.slice(0, 1 + keep), ...added];
      const text = JSON.stringify(
        { ...(before !== null && { a: before }), messages, ...(after !== null && { b: after }) },
        undefined,
        indent,
      );
      expect(shown(read(memory, text))).toEqual(whole(text));
    }
  });
  fc.assert(property, { seed: 20_261_122, numRuns: 100 });
});
