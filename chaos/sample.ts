/** What the gateway's process says of itself. */
import * as z from "zod";

/** What it holds after its garbage was collected. */
const sampleSchema = z.object({
  heapBytes: z.number(),
  externalBytes: z.number(),
  /** Sockets, servers and the like, by kind. */
  resources: z.record(z.string(), z.number()),
});

export const messageSchema = z.discriminatedUnion("type", [
  z.object({ type: z.literal("sample"), sample: sampleSchema }),
  /** The event loop was held for longer than ever before: so much work was done between two turns. */
  z.object({ type: z.literal("hold"), ms: z.number() }),
]);

export type SamplerMessage = z.infer<typeof messageSchema>;
export type Sample = z.infer<typeof sampleSchema>;
