/** A plain client of Chat Completions: sends one request, collects the answer, streamed or not. */
import { setTimeout } from "node:timers/promises";
import * as z from "zod";
import type { Answer } from "./corpus.ts";

export interface Outcome {
  readonly status: number;
  /** The server's message, also one inside a stream. */
  readonly error?: string;
  readonly answer: Answer;
  readonly finish?: string;
  /** Headers and body, as they came. */
  readonly raw: string;
  readonly callIds: readonly string[];
}

const call = z.object({
  index: z.int().nullish(),
  id: z.string().nullish(),
  function: z.object({ name: z.string().nullish(), arguments: z.string().nullish() }).nullish(),
});

const message = z.object({
  content: z.string().nullish(),
  reasoning_content: z.string().nullish(),
  reasoning: z.string().nullish(),
  tool_calls: z.array(call).nullish(),
});

const choice = z.object({
  message: message.nullish(),
  delta: message.nullish(),
  finish_reason: z.string().nullish(),
});
const choices = z.array(choice);
const body = z.object({ choices: choices.nullish(), error: z.unknown().optional() });

const NOTHING: Answer = { content: "", reasoning: "", tool_calls: [] };

/** Until the gateway's probe has ended. A server on an idle machine is probed in a few seconds. */
export async function waitUntilReady(baseURL: string, withinMs = 120_000): Promise<void> {
  const signal = AbortSignal.timeout(withinMs);
  try {
    while (!(await fetch(new URL("/ready", baseURL), { signal })).ok) {
      await setTimeout(100, undefined, { signal });
    }
  } catch (cause) {
    throw new Error(`${baseURL} was not ready within ${withinMs} ms`, { cause });
  }
}

/** @param baseURL with `/v1`. */
export async function ask(baseURL: string, request: object): Promise<Outcome> {
  try {
    return await post(baseURL, request);
  } catch (error) {
    if (!(error instanceof DOMException) || error.name !== "TimeoutError") throw error;
    return { status: 504, error: "no answer in time", answer: NOTHING, raw: "", callIds: [] };
  }
}

async function post(baseURL: string, request: object): Promise<Outcome> {
  const response = await fetch(`${baseURL}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(request),
    signal: AbortSignal.timeout(300_000),
  });
  const text = await response.text();
  const isStream = response.headers.get("content-type")?.includes("event-stream") === true;
  const documents = isStream ? readEvents(text) : [text];
  const headers = Array.from(response.headers, (each) => each.join(": "));
  return { ...collect(response.status, documents), raw: [...headers, text].join("\n") };
}

function readEvents(text: string): string[] {
  return text
    .split("\n")
    .filter((line) => line.startsWith("data: ") && line !== "data: [DONE]")
    .map((line) => line.slice("data: ".length));
}

function collect(status: number, documents: readonly string[]): Omit<Outcome, "raw"> {
  let content = "";
  let reasoning = "";
  let error: string | undefined;
  let finish: string | undefined;
  const calls = new Map<number, { id: string; name: string; arguments: string }>();
  for (const document of documents) {
    const parsed = body.safeParse(parseJson(document));
    if (!parsed.success) {
      error ??= document.slice(0, 200);
      continue;
    }
    if (parsed.data.error != null) error ??= JSON.stringify(parsed.data.error).slice(0, 200);
    const [first] = parsed.data.choices ?? [];
    const part = first?.message ?? first?.delta;
    finish = first?.finish_reason ?? finish;
    content += part?.content ?? "";
    reasoning += part?.reasoning_content ?? part?.reasoning ?? "";
    for (const [position, each] of (part?.tool_calls ?? []).entries()) {
      const index = each.index ?? position;
      const known = calls.get(index) ?? { id: "", name: "", arguments: "" };
      calls.set(index, {
        id: each.id ?? known.id,
        name: known.name + (each.function?.name ?? ""),
        arguments: known.arguments + (each.function?.arguments ?? ""),
      });
    }
  }
  const found = [...calls.values()];
  return {
    status,
    ...((error !== undefined || status >= 400) && { error: error ?? `status ${status}` }),
    answer: {
      content,
      reasoning,
      tool_calls: found.map(({ name, arguments: args }) => ({ name, arguments: args })),
    },
    ...(finish !== undefined && { finish }),
    callIds: found.map(({ id }) => id),
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
