/**
 * The record of a turn: the request, the prompt, the model's output, its parts, and the answer. Published as a JSON Schema
 * (`docs/turn-record.schema.json`). Token ids are authoritative; text is for readers.
 *
 * A later version may add fields. A change of a field's meaning raises `version`.
 */
import * as z from "zod";
import { lazy } from "../../lazy.ts";
import type { Message } from "../../harmony/conversation.ts";

export const RECORD_VERSION = 1;

export type TurnRecord = z.output<ReturnType<typeof turnRecordSchema>>;
export type RecordedMessage = TurnRecord["conversation"][number];
export type RecordedCall = TurnRecord["calls"][number];
export type RecordedRead = RecordedCall["reads"][number];
export type RecordedPart = TurnRecord["parts"][number];
export type RecordedRecovery = TurnRecord["recoveries"][number];
export type RecordedDecision = TurnRecord["decisions"][number];
export type RecordedAnswer = NonNullable<TurnRecord["answer"]>;
export type RecordedText = z.output<ReturnType<typeof recordedText>>;
export type RecordedIds = z.output<ReturnType<typeof recordedIds>>;

const ms = () => z.number().describe("Milliseconds since the request was accepted.");
const count = () => z.int().min(0);

/**
 * Functions that replace content, by schema. A schema keeps its entry when it gets a description. So a field with content is
 * redacted in every position (`redact.ts`).
 */
export const REDACTIONS = z.registry<{ readonly redact: (content: unknown) => unknown }>();

/** Text, or its length where content is not kept. */
export const recordedText = lazy(() =>
  z
    .union([z.string(), z.strictObject({ chars: count() })])
    .register(REDACTIONS, {
      redact: (text) => (typeof text === "string" ? { chars: text.length } : text),
    })
    .describe("Text, or only its length where content is not kept."),
);

/** Ids, or their number where content is not kept. */
const recordedIds = lazy(() =>
  z
    .union([z.array(z.int()), z.strictObject({ count: count() })])
    .register(REDACTIONS, { redact: (ids) => (Array.isArray(ids) ? { count: ids.length } : ids) })
    .describe("Token ids, or only their number where content is not kept."),
);

/** A message of an engine or a validator, which may quote content. */
const recordedError = lazy(() =>
  z.string().register(REDACTIONS, { redact: () => "left out, because content is not kept" }),
);

/** Marks a value that is left out where content is not kept. */
function contentAlone<T extends z.ZodType>(schema: T): T {
  REDACTIONS.add(schema, { redact: () => undefined });
  return schema;
}

const request = lazy(() =>
  z.strictObject({
    method: z.string(),
    path: z.string(),
    headers: z
      .record(z.string(), z.string())
      .describe("Only headers that say what the client is. Never keys or cookies."),
    body: recordedText().describe("As it came, except that keys of MCP servers are left out."),
  }),
);

const capabilities = lazy(() =>
  z
    .strictObject({
      idsIn: z.boolean(),
      idsOut: z.enum(["exact", "lossy", "none", "unmarked"]),
      showsMarkers: z.boolean().optional(),
      stopIdVisible: z.boolean(),
      stopIds: z.boolean(),
      constraints: z.array(z.string()),
      logprobs: z.boolean(),
      sampling: z.array(z.string()),
    })
    .describe("What the engine can do, which decides how demands are met."),
);

const settings = lazy(() =>
  z.strictObject({
    layout: z.enum(["guide", "reference", "channel-first"]),
    contextLength: count().nullable(),
    capabilities: capabilities(),
    reasoningPolicy: z.string().nullable(),
    steering: z.record(z.string(), z.union([z.number(), z.boolean()])),
    toolChoice: z.strictObject({ type: z.string(), names: z.array(z.string()).optional() }),
    tools: z.array(z.string()).describe("Names of the functions the client has offered."),
    shownTools: z
      .array(z.strictObject({ name: z.string(), as: z.string() }))
      .optional()
      .describe("Those of them that the model was shown under another name."),
    mappedTools: z
      .array(z.strictObject({ name: z.string(), as: z.string() }))
      .optional()
      .describe(
        "The client's tools in whose place the model was shown trained ones, which `tools` names.",
      ),
    textTools: z.array(z.string()).describe("Those of them whose calls are text, not JSON."),
    builtins: z
      .array(
        z.strictObject({
          name: z.string(),
          functions: z.array(z.string()),
          rawBody: z.boolean(),
        }),
      )
      .describe("Tools that the gateway runs."),
    gatewayTools: z.array(z.string()).describe("Functions that the gateway runs."),
    toolRuns: z
      .strictObject({ maxCalls: count(), citations: z.enum(["link", "annotate", "raw"]) })
      .optional()
      .describe("Of these tools: the limit of calls, and what becomes of citations."),
    answer: z.string().describe("`text`, `json-object` or `json-schema`."),
    reasoning: z.strictObject({ enabled: z.boolean(), maxTokens: count().optional() }),
    preset: z
      .strictObject({
        name: z.string(),
        values: z.record(z.string(), z.union([z.string(), z.number()])),
        lock: z.array(z.string()),
        instructions: recordedText().optional(),
      })
      .optional()
      .describe("The settings that the name of the model brought along."),
    maxOutputTokens: count().nullable(),
    parallelToolCalls: z.boolean(),
    stop: z.array(recordedText()),
  }),
);

const message = lazy(() =>
  z.strictObject({
    role: z.enum(["system", "developer", "user", "assistant", "tool"]),
    name: z.string().optional(),
    recipient: z.string().optional(),
    channel: z.string().optional(),
    contentType: z.string().optional(),
    order: z
      .enum(["recipient-first", "channel-first"])
      .optional()
      .describe("Of a call's header, if it is known how the model wrote it."),
    written: z
      .strictObject({ as: z.enum(["sampled", "rendered"]), because: z.string().optional() })
      .optional()
      .describe("In a running tool loop: with the ids that were sampled, or rendered, and why."),
    text: recordedText(),
    tokens: count().describe(
      "With its header and markers; for one that was left out, of its text.",
    ),
    source: z
      .enum(["client", "sealed", "stored", "gateway"])
      .describe("Who brought it: the client, its encrypted reasoning, the store or the gateway."),
    dropped: z
      .strictObject({ reason: z.literal("finished"), finishedBy: count() })
      .optional()
      .describe("Left out of the prompt: the answer in message `finishedBy` ended its turn."),
  }),
);

const prompt = lazy(() =>
  z.strictObject({
    ids: recordedIds(),
    segments: z
      .array(z.strictObject({ message: count().nullable(), tokens: count() }))
      .describe(
        "Which message each run of ids belongs to; null: the header that the model continues.",
      ),
    cachedTokens: count().nullable(),
  }),
);

const decision = lazy(() =>
  z.strictObject({
    ms: ms(),
    type: z.string().describe("As `nextStep` names it, such as `open-answer` or `retry-call`."),
    outcome: z.string().describe("Of the decision before, which led to this one."),
    cut: z.string().optional().describe("Why reading stopped before the model ended."),
    repair: z.string().optional(),
    names: z.array(z.string()).optional(),
    name: z.string().optional(),
    reason: z.string().optional(),
    problem: recordedText().optional(),
  }),
);

const piece = lazy(() =>
  z.union([z.strictObject({ special: z.int() }), z.strictObject({ text: recordedText() })]),
);

const logprob = lazy(() =>
  z.strictObject({
    id: z.int(),
    logprob: z.number(),
    top: z.array(z.strictObject({ id: z.int(), logprob: z.number() })),
  }),
);

const read = lazy(() =>
  z
    .union([
      z.strictObject({
        ms: ms(),
        ids: recordedIds(),
        logprobs: contentAlone(z.array(logprob())).optional(),
      }),
      z.strictObject({ ms: ms(), pieces: z.array(piece()), counts: z.array(count()) }),
      z.strictObject({ ms: ms(), text: recordedText(), tokens: count().optional() }),
    ])
    .describe("What one read from the engine gave, in the form the engine gives it."),
);

const usage = lazy(() =>
  z.strictObject({
    promptTokens: count().optional(),
    cachedTokens: count().optional(),
    completionTokens: count().optional(),
  }),
);

const attempt = lazy(() =>
  z.strictObject({ ms: ms(), backend: z.string(), error: recordedError().optional() }),
);

const call = lazy(() =>
  z.strictObject({
    decision: count().nullable().describe("The entry of `decisions` that led to the call."),
    stage: z.string().describe("What the model is sampled for."),
    kept: count().describe("Ids at the start of the prompt that are those of the call before."),
    appended: recordedIds().describe(
      "Ids of the prompt after those: what the model wrote, then what the gateway appended.",
    ),
    written: count().describe("How many of the appended ids the model had written."),
    promptTokens: count(),
    maxTokens: count().nullable(),
    stopIds: z.array(z.int()),
    constraint: z.strictObject({ type: z.string(), text: recordedText() }).optional(),
    sampling: z.record(z.string(), z.number()),
    // The biased ids may be words of the content.
    logitBias: contentAlone(z.record(z.string(), z.number())).optional(),
    topLogprobs: count().optional(),
    attempts: z
      .array(attempt())
      .describe("Backends of a pool that were asked, with the error of each that failed."),
    engine: z.string().nullable(),
    backend: z.string().nullable(),
    asked: ms(),
    opened: ms().nullable().describe("When the engine accepted the request."),
    prefill: z
      .strictObject({ total: count(), cached: count(), processed: count(), elapsedMs: z.number() })
      .optional()
      .describe("Tokens of the prompt that the engine has processed, as it has last reported."),
    firstToken: ms().nullable(),
    ended: ms().nullable(),
    reads: z.array(read()),
    used: count().describe(
      "How much of the reads the turn has used: ids, pieces or characters. Less than all after a cut.",
    ),
    finish: z.enum(["stop", "length"]).nullable().describe("Null: cut by the gateway, or failed."),
    nativeReason: z.string().nullable(),
    usage: usage().optional(),
    error: recordedError().optional(),
  }),
);

const span = lazy(() =>
  z
    .strictObject({ call: count(), from: count(), to: count() })
    .describe("Units of a call's reads, from inclusive to exclusive: ids, pieces or characters."),
);

const part = lazy(() =>
  z.strictObject({
    kind: z.enum(["reasoning", "preamble", "content", "tool-call", "builtin-call", "tool-result"]),
    name: z.string().optional(),
    id: z.string().optional().describe("Of a call, as the client got it."),
    channel: z.string().optional(),
    recipient: z.string().optional(),
    contentType: z.string().optional(),
    text: recordedText(),
    header: z.enum(["model", "gateway"]).describe("Who wrote its header."),
    form: z
      .string()
      .optional()
      .describe(
        "Of a call: the form of its header, if the model wrote it; `other` is none of those that are put back.",
      ),
    trained: z
      .strictObject({
        client: z.string().describe("The client's tool."),
        outcome: z.enum(["mapped", "unmapped"]),
        profile: z.string().describe("The table of the conversion, and its version."),
        notes: z.array(recordedText()).describe("What was changed or left out, or why not."),
      })
      .optional()
      .describe("Of a call to a trained tool: what the client got in its place."),
    spans: z.array(span()),
    sent: z.boolean().describe("False: not given out, such as an answer that was rejected."),
    failed: z.boolean().optional().describe("Of a tool's result."),
    reason: z.string().optional().describe("Of a tool's result: why it failed, if that is known."),
    shown: recordedText()
      .optional()
      .describe("Of a tool's result: the part that clients receive, as JSON."),
    started: ms().optional().describe("Of a tool's result: when the tool was run."),
    ended: ms().optional(),
  }),
);

const recovery = lazy(() =>
  z.strictObject({
    name: z.string(),
    call: count().describe("The engine call it was made in or after."),
    at: count().describe("The unit of that call's reads after which it was certain."),
    was: recordedText().describe("What stood there."),
    became: z.string().describe("The part it was read as, or the decision it led to."),
  }),
);

const answer = lazy(() =>
  z.strictObject({
    status: z.int(),
    contentType: z.string(),
    headers: z.record(z.string(), z.string()),
    body: recordedText().optional(),
    events: z
      .array(z.strictObject({ ms: ms(), text: recordedText() }))
      .optional()
      .describe("Server-sent events as they were written, or messages of a WebSocket."),
  }),
);

const end = lazy(() =>
  z.strictObject({
    outcome: z
      .string()
      .describe(
        "`stop`, `length`, `tool-calls`, `error`, `failed`, `rejected` or `cancelled`; without a turn `rejected`, `answered` or `cancelled`.",
      ),
    nativeReason: z.string().nullable(),
    stopSequence: recordedText().optional(),
    failure: z.strictObject({ kind: z.string(), message: recordedText() }).optional(),
    error: recordedError().optional(),
    usage: z
      .strictObject({
        promptTokens: count(),
        cachedTokens: count(),
        completionTokens: count(),
        reasoningTokens: count(),
        engineCalls: count(),
      })
      .optional(),
  }),
);

export const turnRecordSchema = lazy(() =>
  z.strictObject({
    version: z.literal(RECORD_VERSION),
    gateway: z.string().describe("Version of the package."),
    id: z
      .string()
      .describe("The request id; with a number behind it for further turns of a request."),
    at: z.string().describe("When the request was accepted, RFC 3339."),
    api: z.enum(["chat-completions", "responses", "messages"]),
    tenant: z.string(),
    model: z.string(),
    engine: z.string().nullable(),
    backend: z.string().nullable(),
    content: z.boolean().describe("False: texts and ids are left out, sizes and times are kept."),
    reasoningFrom: z
      .enum(["sent", "sealed", "stored", "lost"])
      .nullable()
      .describe("Where the reasoning of the running tool loop was found; the worst of several."),
    forkedFrom: z
      .string()
      .optional()
      .describe("The id of the turn that the request was made from, as `x-harmony-fork-of` says."),
    request: request().nullable(),
    settings: settings().nullable(),
    conversation: z.array(message()),
    prompt: prompt().nullable(),
    decisions: z.array(decision()),
    calls: z.array(call()),
    parts: z.array(part()),
    recoveries: z.array(recovery()),
    cited: z
      .array(
        z.strictObject({
          cursor: count(),
          lines: z.strictObject({ first: count(), last: count() }).optional(),
          source: recordedText().describe("Address, title and quoted text, as JSON."),
        }),
      )
      .optional()
      .describe("Citations of what tools of the gateway found, by the numbers the model wrote."),
    answer: answer().nullable(),
    end: end().nullable().describe("Null: the turn has not ended."),
    times: z.strictObject({
      accepted: ms(),
      queued: ms().nullable().describe("When the turn was ready for an engine."),
      asked: ms().nullable().describe("When a backend was asked."),
      firstByte: ms().nullable(),
      firstToken: ms().nullable(),
      end: ms().nullable(),
    }),
    parsing: z
      .array(
        z.union([
          z.strictObject({ read: z.strictObject({ call: count(), units: count() }) }),
          z.strictObject({ header: recordedIds() }),
          z.strictObject({ end: z.enum(["stop", "length", "cut"]) }),
          z.strictObject({ restart: z.literal(true) }),
          z.strictObject({ markers: z.enum(["shown", "hidden"]) }),
        ]),
      )
      .describe("What the parser was given, in order."),
    cut: z
      .array(z.strictObject({ what: z.string(), left: count() }))
      .describe(
        "What is left out because the record would be too large: how many bytes or entries.",
      ),
  }),
);

/** The header of a message, equal in records and Harmony. */
type Header = Pick<Message, "role" | "name" | "recipient" | "channel" | "contentType" | "order">;

/** The header's members in this order, without undefined ones. */
export function headerOf({
  role,
  name,
  recipient,
  channel,
  contentType,
  order,
}: Message | RecordedMessage): Header {
  return {
    role,
    ...(name !== undefined && { name }),
    ...(recipient !== undefined && { recipient }),
    ...(channel !== undefined && { channel }),
    ...(contentType !== undefined && { contentType }),
    ...(order !== undefined && { order }),
  };
}
