/** The recorded items and events of calls that the gateway runs. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { expect, test } from "vitest";
import { createTurnApp, end, type Part, type TurnEvent } from "./turn-events.ts";

const gatewayCase = z.object({
  id: z.string(),
  kind: z.string(),
  input: z.object({
    call: z.string().optional(),
    list: z.string().optional(),
    args: z.record(z.string(), z.unknown()).optional(),
    arguments: z.string().optional(),
    ok: z.boolean().optional(),
    code: z.string().optional(),
    stdout: z.string().optional(),
    include: z.array(z.string()).optional(),
    results: z.array(z.string()).optional(),
    resolvedUrl: z.string().optional(),
  }),
  expected: z.unknown(),
});

type GatewayCallResult = Extract<TurnEvent, { type: "builtin-result" }>;
type Input = z.infer<typeof gatewayCase>["input"];

const CASES = readFileSync(
  join(import.meta.dirname, "../../fixtures/builtin-tools/cases.jsonl"),
  "utf8",
)
  .trim()
  .split("\n")
  .map((line): unknown => JSON.parse(line))
  .flatMap((each) => gatewayCase.safeParse(each).data ?? [])
  .filter(({ kind }) => kind.startsWith("responses-"));

function toPart({ call = "" }: Input): Extract<Part, { kind: "builtin-call" }> {
  const id = "call_1";
  return call === "mcp"
    ? {
        kind: "builtin-call",
        id,
        name: "functions.files_read",
        origin: { server: "files", tool: "read" },
      }
    : { kind: "builtin-call", id, name: call };
}

function toShown(input: Input): GatewayCallResult["shown"] {
  const { call, args = {}, results = [] } = input;
  switch (call) {
    case "browser.search":
      return {
        type: "search",
        query: String(args["query"]),
        results: results.map((url) => ({ url, title: "", snippet: "" })),
      };
    case "browser.find":
      return {
        type: "find",
        pattern: String(args["pattern"]),
        ...(input.resolvedUrl !== undefined && { url: input.resolvedUrl }),
      };
    case "python":
      return {
        type: "code",
        code: input.code ?? "",
        containerId: "cntr_1",
        outputs: [{ type: "logs", logs: input.stdout ?? "" }],
      };
    default:
      return { type: "mcp", server: "files", tool: "read", arguments: input.arguments ?? "" };
  }
}

function toResult(input: Input): GatewayCallResult {
  const failed = input.ok === false;
  return { type: "builtin-result", id: "call_1", shown: toShown(input), failed, messages: [] };
}

const text = ({ args, code, arguments: given }: Input) => code ?? given ?? JSON.stringify(args);

function toTurn(input: Input): TurnEvent[] {
  return [
    { type: "start", promptTokens: 1 },
    { type: "part-start", part: toPart(input) },
    { type: "part-delta", text: text(input) },
    { type: "part-end" },
    toResult(input),
    end("stop"),
  ];
}

/** An MCP server without tools. */
const unused = () => Promise.reject(new Error("not used"));
const FILES = {
  server: { label: "files", listTools: async () => [], callTool: unused, close: unused },
  policy: {},
};

test.each(CASES.filter(({ kind }) => kind === "responses-events"))(
  "$id",
  async ({ input, expected }) => {
    const app = createTurnApp({ toolbox: { mcp: { servers: new Map([["files", FILES]]) } } });
    const events =
      input.list === undefined
        ? await app.stream(toTurn(input))
        : await app.stream([{ type: "start", promptTokens: 1 }, end("stop")], {
            tools: [{ type: "mcp", server_label: "files" }],
          });
    expect(events.slice(2, -1).map(({ type }) => type)).toEqual(expected);
  },
);

test.each(CASES.filter(({ kind }) => kind === "responses-item"))(
  "$id",
  async ({ input, expected }) => {
    const { include = [] } = input;
    const response = await createTurnApp().post(toTurn(input), { include });
    expect(await response.json()).toMatchObject({
      output: [z.record(z.string(), z.unknown()).parse(expected)],
    });
  },
);

test("all of them are run", () => {
  expect(CASES).toHaveLength(7);
});
