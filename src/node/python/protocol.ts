/** The messages between the gateway and the interpreter's process, one JSON object per line. */
import * as z from "zod";

/** The process's only argument, as JSON. */
export interface HostOptions {
  readonly pyodideFolder: string;
  /** `make`: write a snapshot to stdout and exit. A path: start from that snapshot. Absent: start without one. */
  readonly snapshot?: string;
  readonly wheelsFolder?: string;
  /** Names of wheels in that folder. */
  readonly wheels: readonly string[];
  /** Maximum bytes of all files together. */
  readonly maxFileBytes: number;
  readonly files: { readonly files: number; readonly fileBytes: number; readonly allBytes: number };
}

export interface HostRequest {
  readonly id: number;
  readonly code: string;
}

/** Untrusted: the code that runs there may write to stdout as well. */
export type HostReply = z.infer<ReturnType<typeof hostReply>>;

export const hostReply = () =>
  z.discriminatedUnion("type", [
    z.object({ type: z.literal("ready") }),
    z.object({
      type: z.literal("result"),
      id: z.int(),
      status: z.enum(["ok", "exception"]),
      output: z.string(),
      files: z.array(z.object({ path: z.string(), base64: z.string() })),
      withheld: z.array(z.string()),
    }),
    z.object({ type: z.literal("crash"), id: z.int(), output: z.string(), reason: z.string() }),
  ]);
