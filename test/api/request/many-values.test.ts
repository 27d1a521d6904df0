/** Bodies of far too many values are refused before they are parsed: the values would take a gigabyte, and hold the event loop. */
import { afterEach, expect, test, vi } from "vitest";
import { appOf } from "../../helpers/app.ts";
import { MODEL } from "../../helpers/browsing-app.ts";
import { testSettings } from "../../helpers/gateway.ts";
import { createMcpApp } from "../../helpers/mcp-app.ts";
import { startMcpServer } from "../../helpers/mcp-server.ts";
import { scriptedEngine } from "../../helpers/scripted-engine.ts";

const REFUSAL = "The request has more than the 250000 JSON values allowed.";
const FINAL = "<|channel|>final<|message|>Done.<|return|>";

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

test("of the arguments of an approved call", async () => {
  const { url, calls } = await startMcpServer();
  const settings = { mcpServers: { words: { url } } };
  const { client } = createMcpApp({ engine: scriptedEngine([FINAL]), settings });
  const parsed = watchParse();
  const [list = ""] = LISTS;
  const { output } = await client.responses.create({
    model: MODEL,
    tools: [{ type: "mcp", server_label: "words" }],
    input: [
      {
        type: "mcp_approval_request",
        id: "mcpr_1",
        server_label: "words",
        name: "look.up",
        arguments: `{"a":${list}}`,
      },
      { type: "mcp_approval_response", approval_request_id: "mcpr_1", approve: true },
    ],
  });
  expect(JSON.stringify(output)).toContain("The arguments are not a JSON object.");
  expect(calls).toEqual([]);
  expect(parsed()).not.toContain(list.length + 6);
});
