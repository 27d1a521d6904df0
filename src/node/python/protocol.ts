/** The messages between the gateway and the interpreter's process, one JSON object per line. */
import * as z from "zod";
import { shortList } from "../../tools/short-list.ts";
import { FILE_LIMITS } from "../../tools/python/runtime.ts";

/** The process's only argument, as JSON. */
export interface HostOptions {
  readonly pyodideFolder: string;
  /** `make`: write a snapshot to stdout and exit. A path: start from that snapshot. Absent: start without a snapshot. */
  readonly snapshot?: string;
  readonly wheelsFolder?: string;
  /** Names of wheels in `wheelsFolder`. */
  readonly wheels: readonly string[];
  /** Maximum bytes of all files together. */
  readonly maxFileBytes: number;
  readonly files: { readonly files: number; readonly fileBytes: number; readonly allBytes: number };
}

export interface HostRequest {
  /** Unguessable id: a result without it was not written by the host. */
  readonly id: string;
  readonly code: string;
}

/** A reply of the process. It is untrusted: the code that runs there may write to stdout as well. */
export type HostReply = z.infer<ReturnType<typeof hostReply>>;

export const hostReply = () =>
  z.discriminatedUnion("type", [
    z.object({ type: z.literal("ready") }),
    z.object({
      type: z.literal("result"),
      id: z.string(),
      status: z.enum(["ok", "exception"]),
      output: z.string(),
      files: shortList(z.object({ path: path(), base64: base64() }), FILE_LIMITS.files),
      withheld: shortList(path(), FILE_LIMITS.files),
    }),
    z.object({ type: z.literal("crash"), id: z.string(), output: z.string() }),
  ]);

const path = () => z.string().max(1000);
const base64 = () => z.string().regex(/^[A-Za-z0-9+/]*=*$/);
