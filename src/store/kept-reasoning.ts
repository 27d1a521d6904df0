/** The stored entry of a call: the reasoning around it, the calls that the gateway ran before it, and its exact ids. */
import * as z from "zod";
import { lazy } from "../lazy.ts";
import { type KeptCall, readKeptCall } from "./kept-call.ts";

const keptCall = lazy(() => z.custom<KeptCall>((value) => readKeptCall(value) !== undefined));

export const keptReasoning = z.lazy(() =>
  z.object({
    before: z.array(z.array(z.string())),
    after: z.array(z.string()),
    tools: z.array(z.object({ list: z.int(), at: z.int(), call: keptCall() })).optional(),
    /** The sampled step that ends with the call; see `stored-step.ts`. */
    sampled: z.string().optional(),
  }),
);

export type KeptReasoning = z.input<typeof keptReasoning>;
