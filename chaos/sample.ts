/** What one process holds after its garbage was collected. */
import * as z from "zod";

export const sampleSchema = z.object({
  heapBytes: z.number(),
  externalBytes: z.number(),
  /** Sockets, servers and the like, by kind. */
  resources: z.record(z.string(), z.number()),
});

export type Sample = z.infer<typeof sampleSchema>;
