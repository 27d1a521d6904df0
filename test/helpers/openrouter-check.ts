/**
 * Checks replies by the schemas of OpenRouter's SDK. Its unions accept all values: a member without a known form
 * becomes a raw value, which the SDK's users cannot read, so it is a problem here.
 */
import { ChatResult$inboundSchema } from "@openrouter/sdk/models/chatresult.js";
import { ChatStreamChunk$inboundSchema } from "@openrouter/sdk/models/chatstreamchunk.js";
import { OpenResponsesResult$inboundSchema } from "@openrouter/sdk/models/openresponsesresult.js";
import { StreamEvents$inboundSchema } from "@openrouter/sdk/models/streamevents.js";
import type * as z from "zod";
import { type Deviations, withoutDeviations } from "./deviations.ts";
import { type Answer, toEvents } from "./openapi-check.ts";

/** The schemas of a plain reply and of an event, for each operation. */
const SCHEMAS: Readonly<Record<string, readonly [plain: z.ZodType, event: z.ZodType]>> = {
  "post /v1/chat/completions": [ChatResult$inboundSchema, ChatStreamChunk$inboundSchema],
  "post /v1/responses": [OpenResponsesResult$inboundSchema, StreamEvents$inboundSchema],
};

const DEVIATIONS: Deviations = [
  [/unreadable: .*"type":"(response\.)?mcp_/, "the SDK has no MCP servers"],
  [/unreadable: .*"type":"(response\.)?compaction/, "the SDK has no compaction"],
  [/unreadable: .*"type":"tool_search"/, "the SDK has no search for tools"],
  [/unreadable: .*"type":"response\.queued"/, "the SDK has no background responses"],
  [
    /unreadable: .*"type":"response\.reasoning\.(delta|done)"/,
    "asked for: Open Responses' spelling",
  ],
  [/tool_calls\.0\.type: .*"function"/, "the SDK has no custom tools in Chat Completions"],
  [/error\.code: .* expected number/, "the SDK's base URL is /api/v1: error-codes.test.ts"],
];

/** One line for each problem. */
export function openRouterProblems(answers: readonly Answer[]): string[] {
  const problems = answers.flatMap(({ operation, status, type, body }) => {
    const isStream = type === "text/event-stream";
    const schema = status === 200 ? SCHEMAS[operation]?.[isStream ? 1 : 0] : undefined;
    if (schema === undefined) return [];
    const values = isStream ? toEvents(body) : [body];
    return values.flatMap((json) => problemsOf(schema, JSON.parse(json)));
  });
  return withoutDeviations(problems, DEVIATIONS);
}

function problemsOf(schema: z.ZodType, value: unknown): string[] {
  const { data, error } = schema.safeParse(value);
  if (error) {
    return [error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`).join("; ")];
  }
  return rawValues(data).map((raw) => `unreadable: ${JSON.stringify(raw).slice(0, 200)}`);
}

function rawValues(value: unknown): unknown[] {
  if (typeof value !== "object" || value === null) return [];
  if ("isUnknown" in value && "raw" in value) return [value.raw];
  return Object.values(value).flatMap((each) => rawValues(each));
}
