/** What the gateway and the interpreter's process say to each other, one JSON object per line. */
import * as z from "zod";

/** The process' one argument, as JSON. */
export interface HostOptions {
  readonly pyodideFolder: string;
  /** `make`: write a snapshot to stdout and end. A path: start from it. Absent: start without. */
  readonly snapshot?: string;
  readonly wheelsFolder?: string;
  /** File names in that folder. */
  readonly wheels: readonly string[];
  /** Of all files together. */
  readonly maxFileBytes: number;
  readonly files: { readonly files: number; readonly fileBytes: number; readonly allBytes: number };
}

export interface HostRequest {
  readonly id: number;
  readonly code: string;
}

/** Not to be trusted: the code that runs there may write to stdout as well. */
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
