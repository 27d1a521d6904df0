/** Credentials of MCP servers are in no record, at a cost that is linear in the body. */
import { assert, constantFrom, jsonValue, property, string } from "fast-check";
import { expect, test, vi } from "vitest";
import { withoutToolCredentials } from "../../../src/telemetry/record/tool-credentials.ts";
import { createRecordedApp } from "../../helpers/recorded-app.ts";
import { scriptedEngine } from "../../helpers/scripted-engine.ts";

const MODEL = "openai/gpt-oss-20b";
const LEFT_OUT = '"[left out of the record]"';

test.each([
  ["authorization", '{"tools":[{"authorization":"tok/en"}]}', `{"tools":[{"authorization":X}]}`],
  [
    "a header, beside the same text elsewhere",
    '{ "input":"key", "tools":[{"headers":{"x-key":"key","b":1}}] }',
    '{ "input":X, "tools":[{"headers":{"x-key":X,"b":1}}] }',
  ],
  [
    "of Messages",
    '{"mcp_servers":[{"url":"https://a.example/mcp","authorization_token":"t"}]}',
    '{"mcp_servers":[{"url":"https://a.example/<redacted>","authorization_token":X}]}',
  ],
  [
    "escaped characters",
    String.raw`{"tools":[{"auth\u006frization":"tok\/en\u0021"}],"a":"tok/en!","b":"\\\"\\"}`,
    String.raw`{"tools":[{"auth\u006frization":X}],"a":X,"b":"\\\"\\"}`,
  ],
  [
    "the path and the query of an address",
    '{"tools":[{"server_url":"https://a.example/s/SECRET/mcp"},{"server_url":"https://b.example?key=SECRET"}]}',
    '{"tools":[{"server_url":"https://a.example/<redacted>"},{"server_url":"https://b.example/<redacted>"}]}',
  ],
  [
    "user and password of an address",
    '{"tools":[{"server_url":"https://me:SECRET@a.example/"}]}',
    '{"tools":[{"server_url":"https://a.example"}]}',
  ],
  [
    "an address without any",
    '{"tools":[{"server_url":"https://a.example/"},{"server_url":"https://b.example"}]}',
    '{"tools":[{"server_url":"https://a.example/"},{"server_url":"https://b.example"}]}',
  ],
  [
    "a parameter of a function",
    '{"tools":[{"type":"function","parameters":{"properties":{"authorization":{"type":"string"}}}}]}',
    '{"tools":[{"type":"function","parameters":{"properties":{"authorization":{"type":"string"}}}}]}',
  ],
])("%s", (_, body, kept) => {
  expect(withoutToolCredentials(body)).toBe(kept.replaceAll("X", LEFT_OUT));
});

test.each([
  ["is no JSON", '{"tools":[{"authorization":"secret"}'],
  ["has too many", JSON.stringify({ tools: Array.from({ length: 65 }, (_, n) => toTool(n)) })],
])("a body that %s is not kept", (_, body) => {
  expect(withoutToolCredentials(body)).toBeUndefined();
});

test("any other text stays as it is", () => {
  assert(
    property(
      string({ unit: "grapheme" }),
      jsonValue(),
      constantFrom(0, 2),
      (text, value, indent) => {
        const fields = { text, value, tools: [{ authorization: "c r e d" }] };
        const body = JSON.stringify(fields, undefined, indent);
        const kept = withoutToolCredentials(body) ?? "";
        expect(kept).toBe(body.replaceAll('"c r e d"', LEFT_OUT));
      },
    ),
  );
});

test("S6: a refused request with thousands of credentials is parsed once, and its body is not kept", async () => {
  const app = createRecordedApp({ engine: scriptedEngine([]) });
  const tools = Array.from({ length: 12_000 }, (_, n) => toTool(n));
  const parse = vi.spyOn(JSON, "parse");
  const replaceAll = vi.spyOn(String.prototype, "replaceAll");
  const response = await app.post("/v1/chat/completions", { model: MODEL, messages: 1, tools });
  const costs = [parse.mock.calls.length, replaceAll.mock.calls.length];
  parse.mockRestore();
  replaceAll.mockRestore();
  expect(response.status).toBe(400);
  for (const cost of costs) expect(cost).toBeLessThan(20);
  const [record] = await app.records();
  expect(record?.request?.body).toBe("");
  expect(record?.cut).toEqual([{ what: "request body", left: expect.any(Number) }]);
  expect(JSON.stringify(record)).not.toContain("secret-");
});

test("S13: an address with credentials in path and query is not in the record", async () => {
  const app = createRecordedApp({ engine: scriptedEngine([]) });
  const tool = {
    type: "mcp",
    server_label: "x",
    server_url: "https://a.example/SECRET/mcp?key=SECRET",
  };
  await app.post("/v1/responses", { model: MODEL, input: "Hi", tools: [tool] });
  const [record] = await app.records();
  expect(record?.request?.body).toContain("https://a.example/<redacted>");
  expect(JSON.stringify(record)).not.toContain("SECRET");
});

function toTool(number: number): object {
  return { type: "mcp", server_label: "x", authorization: `secret-${number}` };
}

test("a body of far too many values is not kept, and never parsed", () => {
  const parse = vi.spyOn(JSON, "parse");
  const body = `{"headers":1,"messages":[{}${",{}".repeat(400_000)}]}`;
  expect(withoutToolCredentials(body)).toBeUndefined();
  expect(parse).not.toHaveBeenCalled();
  parse.mockRestore();
});
