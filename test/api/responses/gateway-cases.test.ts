/** The recorded items and events of calls that the gateway runs. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { expect, test } from "vitest";
import { toGatewayItem } from "../../../src/api/responses/gateway-item.ts";
import type { ShownCall } from "../../../src/tools/gateway-tool.ts";
import type { GatewayCallResult, Part, TurnEvent } from "../../../src/turn/turn.ts";
import { end, eventWriter } from "./turn-events.ts";

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

function toShown(input: Input): ShownCall {
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

const LISTING = { label: "files", tools: [], param: "tools[0]" };

test.each(CASES.filter(({ kind }) => kind === "responses-events"))("$id", ({ input, expected }) => {
  const call: TurnEvent[] = [
    { type: "part-start", part: toPart(input) },
    { type: "part-delta", text: text(input) },
    { type: "part-end" },
    toResult(input),
  ];
  const isList = input.list !== undefined;
  const turn: TurnEvent[] = [
    { type: "start", promptTokens: 1 },
    ...(isList ? [] : call),
    end("stop"),
  ];
  const writer = eventWriter(isList ? { listings: [LISTING] } : {});
  const types = turn.flatMap((event) => writer.push(event)).map(({ type }) => type);
  expect(types.slice(2, -1)).toEqual(expected);
});

test.each(CASES.filter(({ kind }) => kind === "responses-item"))("$id", ({ input, expected }) => {
  const includes = {
    sources: input.include?.includes("web_search_call.action.sources") ?? false,
    results: false,
    outputs: input.include?.includes("code_interpreter_call.outputs") ?? false,
  };
  const call = { part: toPart(input), id: "x_1", text: text(input), result: toResult(input) };
  expect(toGatewayItem(call, "completed", includes)).toMatchObject(
    z.record(z.string(), z.unknown()).parse(expected),
  );
});

test("all of them are run", () => {
  expect(CASES).toHaveLength(7);
});
