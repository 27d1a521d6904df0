/** Bodies of far too many values are refused before they are parsed: the values would take a gigabyte, and hold the event loop. */
import { assert, jsonValue, nat, property } from "fast-check";
import { afterEach, expect, test, vi } from "vitest";
import { readMessage } from "../../../src/api/responses/socket-message.ts";
import { hasMoreValues, MAX_VALUES } from "../../../src/json-text.ts";
import { checkLimits, refuseManyValues } from "../../../src/api/request/limits.ts";
import { readArguments } from "../../../src/api/trained/arguments.ts";
import { createStages } from "../../../src/api/request/stages.ts";
import { createMcpServer } from "../../../src/node/mcp/connect.ts";
import { runAtOnce } from "../../../src/streams/slices.ts";
import { withoutToolCredentials } from "../../../src/telemetry/record/tool-credentials.ts";
import { appOf } from "../../helpers/app.ts";
import { testSettings } from "../../helpers/gateway.ts";
import { scriptedEngine } from "../../helpers/scripted-engine.ts";

const REFUSAL = `The request has more than the ${MAX_VALUES} JSON values allowed.`;
const LIMITS = { messageLists: [], toolLists: [], maxMessages: 1, maxTools: 1 };
const NOTHING = async () => {};

afterEach(() => {
  vi.restoreAllMocks();
});

/** More than can be in a request, in 1.2 MB and in the 4.5 MB of which no beginning is remembered. */
const LISTS = [`[{}${",{}".repeat(400_000)}]`, `[{}${",[]".repeat(1_500_000)}]`];

/** The length of each text that was parsed. */
function watchParse(): () => number[] {
  const parse = vi.spyOn(JSON, "parse");
  return () => parse.mock.calls.map(([text]) => text.length);
}

test.each([
  ["chat/completions", "messages"],
  ["messages", "messages"],
  ["messages/count_tokens", "messages"],
  ["responses", "input"],
  ["responses", "metadata"],
  ["responses/input_tokens", "input"],
  ["responses/compact", "input"],
  ["conversations", "items"],
  ["conversations/conv_1", "metadata"],
  ["conversations/conv_1/items", "items"],
])("of /v1/%s, in %s", async (path, member) => {
  const app = appOf(testSettings(), [{ id: "m", engine: scriptedEngine([]) }], {});
  for (const list of LISTS) {
    const parsed = watchParse();
    const body = `{"model":"m","max_tokens":8,"${member}":${list}}`;
    const response = await app.request(`/v1/${path}`, { method: "POST", body });
    expect(await response.text()).toContain(REFUSAL);
    expect(response.status).toBe(400);
    expect(Math.max(0, ...parsed())).toBeLessThan(1000);
  }
});

test("of a WebSocket", async () => {
  const parsed = watchParse();
  const message = `{"type":"response.create","input":${LISTS[0]}}`;
  await expect(readMessage(message, message.length, NOTHING)).rejects.toThrow(REFUSAL);
  expect(parsed()).toEqual([]);
});

test("of a recorder, which leaves them out", () => {
  const parsed = watchParse();
  expect(withoutToolCredentials(`{"headers":1,"messages":${LISTS[0]}}`)).toBeUndefined();
  expect(parsed()).toEqual([]);
});

test("of the arguments of a call that become those of a trained tool", () => {
  const parsed = watchParse();
  expect(readArguments(`{"command":${LISTS[0]}}`)).toBeUndefined();
  expect(parsed()).toEqual([]);
});

test("of the arguments of an approved call", async () => {
  const target = { type: "http", url: "https://a.example/mcp", headers: {}, fetch } as const;
  const server = createMcpServer({ label: "a", target, timeoutMs: 1000 });
  const parsed = watchParse();
  const { text } = await server.callTool("t", `{"a":${LISTS[0]}}`, new AbortController().signal);
  expect(text).toBe("The arguments are not a JSON object.");
  expect(parsed()).toEqual([]);
});

test.each([
  ["empty objects and lists", (count: number) => `{${members(count, "[]")}}`],
  ["numbers", (count: number) => `{"a":[${"1,".repeat(count - 2)}1]}`],
  [
    "texts of separators",
    (count: number) => `{"a":["${'\\\\\\",[{'.repeat(300_000)}",${"[],".repeat(count - 3)}[]]}`,
  ],
])("%s: as many as allowed pass, twice as many are refused", async (_, textOf) => {
  const passes = textOf(MAX_VALUES);
  expect(() => checkLimits(JSON.parse(passes), LIMITS)).not.toThrow();
  expect(() => runAtOnce(refuseManyValues(passes))).not.toThrow();
  expect(() => runAtOnce(refuseManyValues(textOf(2 * MAX_VALUES + 2)))).toThrow(REFUSAL);
});

function members(count: number, value: string): string {
  return Array.from({ length: count }, (_, index) => `"${index}":${value}`).join(" , ");
}

test("no text with as many values as allowed is refused, however it is written", () => {
  const never = property(jsonValue(), nat(3), (value, indent) => {
    const text = JSON.stringify(value, undefined, indent);
    let values = 0;
    JSON.parse(text, () => values++);
    expect(runAtOnce(hasMoreValues(text, values))).toBe(false);
  });
  assert(never, { seed: 20_261_126, numRuns: 2000 });
});

test("long texts are read in stages", async () => {
  let pauses = 0;
  const stages = createStages(5_000_000, async () => void pauses++);
  await stages.run(refuseManyValues(`["${"a".repeat(1_000_000)}",${"\n".repeat(2_000_000)}1]`));
  await stages.run(refuseManyValues(`["${'\\"'.repeat(1_000_000)}"]`));
  expect(pauses).toBeGreaterThan(8);
});
