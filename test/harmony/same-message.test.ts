/** Messages that a client has sent back are compared with the original ones. */
import { expect, test } from "vitest";
import type { Message } from "../../src/harmony/index.ts";
import { isSameMessage } from "../../src/harmony/same-message.ts";

const call = (content: string, rest: Partial<Message> = {}): Message => ({
  role: "assistant",
  recipient: "functions.f",
  channel: "commentary",
  content,
  ...rest,
});
const said = (content: string, channel = "analysis"): Message => ({
  role: "assistant",
  channel,
  content,
});

test.each([
  ['{"a":1}', '{"a":1}'],
  ['{"a":1}\n', '{"a":1}'],
  ['{ "a" : 1 }', '{"a":1}'],
  ['{"a":1,"b":[2,{"c":3,"d":null}]}', '{"b":[2,{"d":null,"c":3}],"a":1}'],
  ['{"a":1.0}', '{"a":1}'],
  ['{"a":10e-1}', '{"a":1}'],
  ['{"a":1200}', '{"a":1.2E3}'],
  ['{"a":-0.0}', '{"a":0}'],
  ['{"a":"é\\/\\n"}', '{"a":"\\u00e9/\\u000a"}'],
  ['{"a:b":":"}', '{"a:b":":"}'],
  ['{"__proto__":{"x":1}}', '{ "__proto__": {"x":1} }'],
  ["ls -l\n", "ls -l"],
])("%j comes back as %j", (sampled, sent) => {
  expect(isSameMessage(call(sampled), call(sent))).toBe(true);
});

test.each([
  ['{"a":1}', '{"a":2}'],
  ['{"a":1}', '{"a":"1"}'],
  ['{"a":1}', '{"a":1,"b":2}'],
  ['{"a":1,"b":2}', '{"a":1}'],
  ['{"a":[1,2]}', '{"a":[2,1]}'],
  ['{"a":[1]}', '{"a":[1,2]}'],
  ['{"a":9007199254740993}', '{"a":9007199254740992}'],
  ['{"a":null}', '{"b":null}'],
  ['{"a":1,"a":2}', '{"a":2}'],
  ['{"a":{"b":1,"b":2}}', '{"a":{"b":2} }'],
  ['{"a":"é"}', '{"a":"e\u0301"}'],
  ['{"a":1', '{"a":1}'],
  ["ls -l", "ls  -l"],
  ["1", "1.0"],
])("%j is not %j", (sampled, sent) => {
  expect(isSameMessage(call(sampled), call(sent))).toBe(false);
});

test("a text of many times the length is not read", () => {
  expect(isSameMessage(call('{"a":1}'), call(`{"a":${" ".repeat(400)}1}`))).toBe(true);
  expect(isSameMessage(call('{"a":1}'), call(`{"a":${" ".repeat(500)}1}`))).toBe(false);
});

test("the form of a call's header may differ, its recipient may not", () => {
  const form = { channel: "analysis", contentType: "code", order: "channel-first" } as const;
  expect(isSameMessage(call("{}", form), call("{}"))).toBe(true);
  expect(isSameMessage(call("{}"), call("{}", { recipient: "functions.g" }))).toBe(false);
});

test("text is the same only character by character, on the same channel", () => {
  expect(isSameMessage(said("So."), said("So."))).toBe(true);
  expect(isSameMessage(said("So. "), said("So."))).toBe(false);
  expect(isSameMessage(said("So."), said("So.", "commentary"))).toBe(false);
  expect(isSameMessage(said("{}"), call("{}"))).toBe(false);
});
