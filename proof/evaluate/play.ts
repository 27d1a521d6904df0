/** Plays a case of the suite against a chat endpoint, as an agent without its own prompt. */
import * as z from "zod";
import type { FunctionCall, Judge } from "./judge.ts";
import type { Case } from "./suite.ts";

export interface Endpoint {
  /** `http://127.0.0.1:8000/v1` */
  readonly baseURL: string;
  readonly model: string;
  readonly key?: string | undefined;
}

export interface Sampling {
  readonly effort?: string | undefined;
  readonly maxTokens: number;
  readonly timeoutMs: number;
}

export interface Played {
  readonly id: string;
  readonly seed: number;
  /** The reason why the play has not passed, in BFCL's words or this program's. Empty: it has passed. */
  readonly problem: string;
  /** Number of the model's responses; a failed request counts as one. */
  readonly responses: number;
  /** Number of responses that no agent can use: failed, markup in the text, a call that cannot be executed. */
  readonly malformed: number;
  readonly completionTokens: number;
}

/** BFCL's limit of responses in one turn. */
const MAX_STEPS = 20;

const functionCall = z.looseObject({ name: z.string(), arguments: z.string() });
const message = z.looseObject({
  content: z.string().nullish(),
  tool_calls: z.array(z.looseObject({ id: z.string(), function: functionCall })).nullish(),
});
const reply = z.looseObject({
  choices: z.tuple([z.looseObject({ message })]),
  usage: z.looseObject({ completion_tokens: z.number() }).nullish(),
});

export async function playCase(
  endpoint: Endpoint,
  played: Case,
  { judge, run, ...sampling }: Sampling & { seed: number; run: string; judge: Judge },
): Promise<Played> {
  const counts = { responses: 0, malformed: 0, completionTokens: 0 };
  const end = (problem: string) => ({ id: played.id, seed: sampling.seed, problem, ...counts });
  const messages: object[] = [];
  const turns: string[][][] = [];
  for (const [turn, question] of played.turns.entries()) {
    messages.push(...question);
    const steps: string[][] = [];
    turns.push(steps);
    const offered = played.functions[turn] ?? [];
    for (;;) {
      if (steps.length === MAX_STEPS) return end("too many steps");
      const { body } = await ask(endpoint, messages, offered, sampling).catch(noAnswer);
      counts.responses++;
      if (body === undefined) {
        counts.malformed++;
        return end("a request failed");
      }
      counts.completionTokens += body.usage?.completion_tokens ?? 0;
      const [{ message: said }] = body.choices;
      messages.push(withoutNulls(said));
      const names = new Set(offered.map(({ name }) => name));
      const calls = (said.tool_calls ?? []).map((call) => ({
        ...call,
        read: readCall(call, names),
      }));
      const isBroken = calls.some(({ read }) => typeof read === "string");
      if (isBroken || /<\|\w+\|>/.test(said.content ?? "")) counts.malformed++;
      if (calls.length === 0) break;
      const good = calls.flatMap(({ read }) => (typeof read === "string" ? [] : [read]));
      const { results, sources } = await judge.run(run, played, good);
      steps.push(sources);
      for (const { id, read } of calls) {
        const content = typeof read === "string" ? read : (results[good.indexOf(read)] ?? "");
        messages.push({ role: "tool", tool_call_id: id, content });
      }
    }
  }
  const { valid, problem } = await judge.check(run, played, turns);
  return end(valid ? "" : problem || "check");
}

/** The result of a timeout, a broken connection, or an answer that is not JSON: other plays continue. */
const noAnswer = () => ({ body: undefined });

/** Sends one request. No body: the answer is an error, or not a chat reply. */
export async function ask(
  { baseURL, model, key }: Endpoint,
  messages: readonly object[],
  functions: Case["functions"][number],
  { seed, effort, maxTokens, timeoutMs }: Sampling & { seed: number },
) {
  const response = await fetch(`${baseURL}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", ...(key && { authorization: `Bearer ${key}` }) },
    body: JSON.stringify({
      model,
      messages,
      tools: functions.map((each) => ({ type: "function", function: each })),
      seed,
      temperature: 1,
      top_p: 1,
      max_tokens: maxTokens,
      ...(effort !== undefined && { reasoning_effort: effort }),
    }),
    signal: AbortSignal.timeout(timeoutMs),
  });
  const text = await response.text();
  const body = response.ok ? reply.safeParse(JSON.parse(text)).data : undefined;
  return { body, headers: response.headers };
}

/** Reasoning goes back as it came, as from a client that keeps everything. */
function withoutNulls(said: z.infer<typeof message>): object {
  const kept = Object.entries(said).filter(([, value]) => value !== null);
  return { role: "assistant", ...Object.fromEntries(kept) };
}

const callArguments = z.record(z.string(), z.unknown());

/** The call, or the error that the model gets for it. */
function readCall(
  { function: { name, arguments: text } }: { function: z.infer<typeof functionCall> },
  offered: ReadonlySet<string>,
): FunctionCall | string {
  if (!offered.has(name)) return `Error: there is no function ${name}.`;
  const given = text === "" ? "{}" : text;
  try {
    callArguments.parse(JSON.parse(given));
    return { name, arguments: given };
  } catch {
    return "Error: the arguments are no JSON object.";
  }
}
