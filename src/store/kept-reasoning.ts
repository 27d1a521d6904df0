/**
 * What is stored for a call: the reasoning around it, the calls the gateway ran before it, and how its header was written if
 * it is to a tool of the model's training.
 */
import * as z from "zod";
import { lazy } from "../lazy.ts";
import { headerOrder, type KeptCall, readKeptCall } from "./kept-call.ts";

const keptCall = lazy(() => z.custom<KeptCall>((value) => readKeptCall(value) !== undefined));

/** A call on `final` would count as an answer. */
const header = lazy(() =>
  z.object({
    channel: z.enum(["analysis", "commentary"]),
    contentType: z
      .string()
      .regex(/^(?:<\|constrain\|>)?[\w-]{1,64}$/)
      .optional(),
    order: headerOrder(),
  }),
);

/** Undefined: it is not kept. */
export function toKeptHeader(written: unknown): KeptReasoning["header"] {
  return header().safeParse(written).data;
}

export const keptReasoning = z.lazy(() =>
  z.object({
    before: z.array(z.array(z.string())),
    after: z.array(z.string()),
    tools: z.array(z.object({ list: z.int(), at: z.int(), call: keptCall() })).optional(),
    header: header().optional(),
  }),
);

export type KeptReasoning = z.input<typeof keptReasoning>;
