/** The requirements that every response of the gateway must meet, whatever was requested. */
import * as z from "zod";
import type { RequestInput } from "./request-input.ts";

/** Chat Completions' and OpenRouter's envelope, or that of the Responses API. */
const errorBody = z.union([
  z.object({
    error: z.object({
      code: z.int(),
      message: z.string().min(1),
      type: z.string().min(1),
      param: z.string().nullable(),
      metadata: z.object({ error_type: z.string() }),
    }),
  }),
  z.object({
    error: z.object({
      code: z.string().nullable(),
      message: z.string().min(1),
      type: z.string().min(1),
      param: z.string().nullable(),
    }),
  }),
]);

/** The only 5xx that is a correct answer: the model did not satisfy the request, and the error states this. */
const modelFailure = z.object({ error: z.object({ type: z.literal("model_error") }) });

/** Messages that only our own defects produce, in a response or in a stream. */
const OWN_MISTAKE = "The gateway failed to handle";

const TERMINAL_EVENTS = new Set([
  "response.completed",
  "response.incomplete",
  "response.failed",
  "message_stop",
  "error",
]);

/** Reads the response to its end, or until the client disconnects. */
export async function findProblem(
  response: Response,
  input: Pick<RequestInput, "method" | "leavesAfter">,
): Promise<string | undefined> {
  const { status, headers } = response;
  if (input.leavesAfter !== undefined) return leave(response, input.leavesAfter);
  const text = await response.text();
  const said = `${status} ${text.slice(0, 500)}`;
  if (text.includes(OWN_MISTAKE)) return `an own mistake: ${said}`;
  if (input.method === "HEAD") return status >= 500 ? said : undefined;
  if (status >= 400) return findErrorProblem(status, headers, text);
  if (headers.get("content-type")?.startsWith("text/event-stream")) return findStreamProblem(text);
  if (headers.get("content-type")?.includes("json")) JSON.parse(text);
  return undefined;
}

async function leave(response: Response, after: number): Promise<string | undefined> {
  const reader = response.body?.getReader();
  for (let pieces = 0; pieces < after; pieces++) {
    const read = await reader?.read();
    if (read?.done !== false) break;
  }
  await reader?.cancel();
  return response.status >= 500 ? `${response.status} before the client left` : undefined;
}

function findErrorProblem(status: number, headers: Headers, text: string): string | undefined {
  const said = `${status} ${text.slice(0, 500)}`;
  if (!headers.get("content-type")?.startsWith("application/json")) return `no JSON: ${said}`;
  const body: unknown = JSON.parse(text);
  const parsed = errorBody.safeParse(body);
  if (!parsed.success) return `not in an envelope: ${said}`;
  const { code } = parsed.data.error;
  if (typeof code === "number" && code !== status) return `the code is not the status: ${said}`;
  if (status >= 500 && !modelFailure.safeParse(body).success) return said;
  if (status === 401 && !headers.has("www-authenticate")) return `no www-authenticate: ${said}`;
  if (status === 405 && !headers.has("allow")) return `no allow: ${said}`;
  return undefined;
}

const event = z.object({ type: z.string().optional(), error: z.unknown().optional() });

export function findStreamProblem(text: string): string | undefined {
  const frames = text
    .split("\n\n")
    .filter((frame) => frame !== "" && !frame.startsWith(":"))
    .map((frame) => frame.replace(/^event: .*\n/, ""));
  const wrong = frames.find((frame) => !frame.startsWith("data: "));
  if (wrong !== undefined) return `no frame: ${wrong.slice(0, 300)}`;
  const events = frames
    .map((frame) => frame.slice("data: ".length))
    .filter((data) => data !== "[DONE]")
    .map((data) => event.parse(JSON.parse(data)));
  const last = events.at(-1);
  const hasDone = frames.at(-1) === "data: [DONE]";
  const isTold = last?.error !== undefined || TERMINAL_EVENTS.has(last?.type ?? "");
  // A chat stream ends with [DONE] or an error; a stream of events with one of the terminal ones.
  const isComplete = last?.type === undefined ? hasDone || isTold : isTold;
  return isComplete ? undefined : `the stream ends without an end or an error: ${text.slice(-300)}`;
}
