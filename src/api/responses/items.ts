/**
 * Input items as clients send them. Deliberately loose: clients send back what they received, with additional fields, and
 * all of it is stored for `input_items`. `to-turn.ts` decides what the model reads.
 */
import * as z from "zod";
import { lazy } from "../../lazy.ts";

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
export type Content = z.infer<ReturnType<typeof content>>;

/** An item as it is stored and listed: what the client sent. */
export type WireItem = Readonly<Record<string, unknown>> & { readonly type: string };

export function toWireItem(item: InputItem): WireItem {
  return item.type === "unsupported" ? item.item : item;
}
