/** Messages of the gateway's process about itself. */
import * as z from "zod";

/** The process's resources after a garbage collection. */
const sampleSchema = z.object({
  heapBytes: z.number(),
  externalBytes: z.number(),
  /** Sockets, servers and the like, by kind. */
  resources: z.record(z.string(), z.number()),
});

export const messageSchema = z.discriminatedUnion("type", [
  z.object({ type: z.literal("sample"), sample: sampleSchema }),
  /** The event loop was blocked for longer than ever before, with this CPU time between two iterations. */
  z.object({ type: z.literal("hold"), ms: z.number() }),
]);

export type SamplerMessage = z.infer<typeof messageSchema>;
export type Sample = z.infer<typeof sampleSchema>;
