/** One request of a client, and the parts of its outcome that all clients read equally. */
import * as z from "zod";

export interface Asking {
  readonly origin: string;
  readonly key: string;
  /** Identifies the request to the engine. */
  readonly number: number;
  /** Additional words of the prompt: `fault cut `, `words 20 `. */
  readonly says?: string;
  /** The expected complete answer. */
  readonly words: number;
}

/**
 * - `complete`: the complete answer, in order
 * - `refused`: an HTTP error in its envelope, before the response began
 * - `reported`: begun, and ended by an error in the API's format
 * - `disconnected`: the client disconnected itself
 * - `defect`: anything else, which is a defect
 */
export type End = "complete" | "refused" | "reported" | "disconnected" | "defect";

export interface Ended {
  readonly end: End;
  readonly status: number;
  readonly detail: string;
}

export const MODEL = "openai/gpt-oss-20b";

/** Longer than any answer may take, faults included: a client that waits this long was lost. */
export const PATIENCE_MS = 120_000;

export function promptOf({ number, says = "" }: Asking): string {
  return `${says}number ${number} .`;
}

export function request({ key }: Asking, body: object, signal: AbortSignal): RequestInit {
  return {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: MODEL, ...body }),
    signal,
  };
}

const envelope = z.object({
  error: z.object({ message: z.string().min(1), type: z.string().min(1) }),
});

export function refusal(status: number, text: string): Ended {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    body = undefined;
  }
  const isReported = envelope.safeParse(body).success && !text.includes("failed to handle");
  return { end: isReported ? "refused" : "defect", status, detail: text.slice(0, 300) };
}
