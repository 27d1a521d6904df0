/**
 * Input items as clients send them. Deliberately loose: clients send back what they received, with additional fields, and
 * all of it is stored for `input_items`. `to-turn.ts` decides what the model reads.
 */
import * as z from "zod";
import { lazy } from "../../lazy.ts";
import { anyEffort } from "../request/reasoning-options.ts";

const textLike = lazy(() => z.string().nullish());

/** A content part. The code that reads it decides which kinds have text, and how to handle others. */
const part = lazy(() => z.looseObject({ type: z.string(), text: textLike(), refusal: textLike() }));

const content = lazy(() =>
  z.union([z.string(), z.array(part())], {
    error: "must be a string or an array of content parts",
  }),
);

const message = lazy(() =>
  z.looseObject({
    type: z.literal("message"),
    id: textLike(),
    role: z.enum(["user", "assistant", "system", "developer"]),
    content: content(),
    /** `commentary` or `final_answer`. Anything else counts as absent. */
    phase: textLike(),
  }),
);

const reasoning = lazy(() =>
  z.looseObject({
    type: z.literal("reasoning"),
    id: textLike(),
    summary: z.array(z.looseObject({ type: z.string(), text: textLike() })).nullish(),
    content: z.array(z.looseObject({ type: z.string(), text: textLike() })).nullish(),
    encrypted_content: textLike(),
  }),
);

const functionCall = lazy(() =>
  z.looseObject({
    type: z.literal("function_call"),
    id: textLike(),
    call_id: z.string().min(1),
    name: z.string().min(1),
    namespace: textLike(),
    arguments: z.string(),
  }),
);

const functionCallOutput = lazy(() =>
  z.looseObject({
    type: z.literal("function_call_output"),
    id: textLike(),
    call_id: z.string().min(1),
    output: content(),
  }),
);

const customToolCall = lazy(() =>
  z.looseObject({
    type: z.literal("custom_tool_call"),
    id: textLike(),
    call_id: z.string().min(1),
    name: z.string().min(1),
    namespace: textLike(),
    input: z.string(),
  }),
);

const customToolCallOutput = lazy(() =>
  z.looseObject({
    type: z.literal("custom_tool_call_output"),
    id: textLike(),
    call_id: z.string().min(1),
    output: content(),
  }),
);

/** Without `call_id` when OpenAI's server ran the search. */
const toolSearchCall = lazy(() =>
  z.looseObject({
    type: z.literal("tool_search_call"),
    id: textLike(),
    call_id: textLike(),
    arguments: z.unknown(),
  }),
);

/** Tools are checked where they are read, so that the item is stored as it was sent. */
const declared = lazy(() => z.array(z.looseObject({ type: z.string() })));

const toolSearchOutput = lazy(() =>
  z.looseObject({
    type: z.literal("tool_search_output"),
    id: textLike(),
    call_id: textLike(),
    tools: declared(),
  }),
);

/** Tools in the input, as Codex sends them for models that it calls light. */
const additionalTools = lazy(() =>
  z.looseObject({ type: z.literal("additional_tools"), id: textLike(), tools: declared() }),
);

export const textFormat = lazy(() =>
  z.discriminatedUnion("type", [
    z.object({ type: z.literal("text") }),
    z.object({ type: z.literal("json_object") }),
    z.object({
      type: z.literal("json_schema"),
      // OpenAI requires it, Open Responses does not.
      name: z
        .string()
        .min(1)
        .max(64)
        .nullish()
        .transform((name) => name ?? "response"),
      description: textLike(),
      schema: z.record(z.string(), z.unknown()),
      strict: z.boolean().nullish(),
    }),
  ]),
);

/** From here on, another effort and another format hold. */
const configurationUpdate = lazy(() =>
  z.looseObject({
    type: z.literal("configuration_update"),
    id: textLike(),
    reasoning: z.looseObject({ effort: anyEffort().nullish() }).nullish(),
    text: z.looseObject({ format: textFormat().nullish() }).nullish(),
  }),
);

const itemReference = lazy(() =>
  z.looseObject({ type: z.literal("item_reference"), id: z.string().min(1) }),
);

const compaction = lazy(() =>
  z.looseObject({
    type: z.literal("compaction"),
    id: textLike(),
    encrypted_content: z.string().min(1),
  }),
);

const known = lazy(() =>
  z.discriminatedUnion("type", [
    message(),
    reasoning(),
    functionCall(),
    functionCallOutput(),
    customToolCall(),
    customToolCallOutput(),
    toolSearchCall(),
    toolSearchOutput(),
    additionalTools(),
    configurationUpdate(),
    itemReference(),
    compaction(),
  ]),
);

const knownTypes = lazy(
  (): ReadonlySet<string> =>
    new Set(known().options.flatMap((option) => [...option.shape.type.values])),
);

/** A kind the model does not support: items of hosted tools, and unknown ones. */
const unsupported = lazy(() =>
  z
    .looseObject({ type: z.string().refine((type) => !knownTypes().has(type), "is not complete") })
    .transform((item) => ({ type: "unsupported" as const, item })),
);

/** Without a type, an item with a role is a message, and one with an id a reference. */
function nameUntyped(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if ("type" in value && value.type !== null && value.type !== undefined) return value;
  if ("role" in value) return { ...value, type: "message" };
  return "id" in value ? { ...value, type: "item_reference" } : value;
}

export const inputItem = z.lazy(() => z.preprocess(nameUntyped, z.union([known(), unsupported()])));

export type InputItem = z.infer<ReturnType<typeof known>> | z.infer<ReturnType<typeof unsupported>>;
export type TextFormat = z.infer<ReturnType<typeof textFormat>>;
export type Content = z.infer<ReturnType<typeof content>>;

/** Items that are calls of the model. */
export const CALL_TYPES: ReadonlySet<string> = new Set([
  "function_call",
  "custom_tool_call",
  "tool_search_call",
]);

/** An item as it is stored and listed: what the client sent. */
export type WireItem = Readonly<Record<string, unknown>> & { readonly type: string };

export function toWireItem(item: InputItem): WireItem {
  return item.type === "unsupported" ? item.item : item;
}
