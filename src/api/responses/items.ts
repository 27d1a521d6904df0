/**
 * Schemas of input items. They are deliberately loose: clients send received items back, with additional fields, and
 * whole items are stored for `input_items`. `to-turn.ts` decides which parts the model reads.
 */
import * as z from "zod";
import { lazy } from "../../lazy.ts";
import { anyEffort } from "../request/reasoning-options.ts";

const textLike = lazy(() => z.string().nullish());

/** A content part. The reading code decides which kinds have text, and how to handle others. */
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
    /** `commentary` or `final_answer`. Any other value counts as absent. */
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

/** A search for tools. `call_id` is absent if OpenAI's server ran it. */
const toolSearchCall = lazy(() =>
  z.looseObject({
    type: z.literal("tool_search_call"),
    id: textLike(),
    call_id: textLike(),
    arguments: z.unknown(),
  }),
);

/** Tools are validated when they are read, so that the item is stored unchanged. */
const declared = lazy(() => z.array(z.looseObject({ type: z.string() })));

const toolSearchOutput = lazy(() =>
  z.looseObject({
    type: z.literal("tool_search_output"),
    id: textLike(),
    call_id: textLike(),
    tools: declared(),
  }),
);

/** Tools in the input. Codex sends them for models that it calls light. */
const additionalTools = lazy(() =>
  z.looseObject({ type: z.literal("additional_tools"), id: textLike(), tools: declared() }),
);

export const textFormat = lazy(() =>
  z.discriminatedUnion("type", [
    z.object({ type: z.literal("text") }),
    z.object({ type: z.literal("json_object") }),
    z.object({
      type: z.literal("json_schema"),
      // OpenAI requires the name, Open Responses does not.
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

/** Sets the effort and the format from here on. */
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

/** An unsupported item: of a hosted tool, or of an unknown kind. */
const unsupported = lazy(() =>
  z
    .looseObject({ type: z.string().refine((type) => !knownTypes().has(type), "is not complete") })
    .transform((item) => ({ type: "unsupported" as const, item })),
);

/** Adds a missing type: an item with a role is a message, an item with an id a reference. */
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

/** An item in its stored and listed form, as sent by the client. */
export type WireItem = Readonly<Record<string, unknown>> & { readonly type: string };

export function toWireItem(item: InputItem): WireItem {
  return item.type === "unsupported" ? item.item : item;
}
