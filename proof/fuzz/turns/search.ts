/** Runs a case, plain and streamed, through the whole application, and checks everything. */
import { z } from "zod";
import { type Api, APIS } from "./apis.ts";
import type { Case } from "./case.ts";
import { checkFollowUp, checkRuns, isFailedTurn, type Run, type Violation } from "./check.ts";
import { createSession } from "./engine.ts";
import { checkExtension } from "./extension.ts";
import type { Fault } from "./faults.ts";
import { type World, worldFor } from "./world.ts";

/** `fault`: a planted defect, to see whether it is found. */
export async function runCase(given: Case, fault?: Fault): Promise<Violation[]> {
  const world = worldFor(given, fault);
  const plain = await ask(world, given, false);
  const streamed = await ask(world, given, true);
  return [...checkRuns(given, plain, streamed), ...(await goOn(world, given, plain))];
}

/** The next turn of a tool loop, by a client that may have dropped the reasoning. */
async function goOn(world: World, given: Case, plain: Run): Promise<Violation[]> {
  const [choice] = plain.observed?.choices ?? [];
  const isLoop = choice?.finish === "tool-calls" && given.demands.n === 1;
  if (!isLoop || given.wire === "text" || given.engine.contextLength !== undefined) return [];
  const next: Case = { ...given, choices: [ANSWER_PLAN] };
  const api = apiOf(given);
  const keepsReasoning = given.seed % 2 === 0;
  const body = api.toFollowUp(next, JSON.parse(plain.answer.text), keepsReasoning);
  const session = createSession(next, [1000]);
  const answer = await world.send(api.path, body, session);
  const [call] = session.calls;
  const { error = "" } = api.readPlain(JSON.parse(answer.text));
  const isAnswered = answer.status === 200 || isFailedTurn(given, answer.status, error);
  if (!isAnswered || call === undefined) {
    return [{ rule: "loop-goes-on", detail: `${answer.status} ${answer.text.slice(0, 300)}` }];
  }
  return [
    ...checkFollowUp(given, plain, call, keepsReasoning),
    ...(answer.status === 200 ? checkExtension(given, plain, { call, exact: answer.exact }) : []),
  ];
}

const ANSWER_PLAN: Case["choices"][number] = [
  { role: "final", header: "<|channel|>final<|message|>", body: "ans1", end: "<|return|>" },
];

function apiOf(given: Case): Api {
  const api = APIS[given.api];
  if (api === undefined) throw new Error(`there is no API named ${given.api}`);
  return api;
}

export async function ask(world: World, given: Case, stream: boolean): Promise<Run> {
  const api = apiOf(given);
  const session = createSession(given, stream ? given.engine.batches : [1]);
  const answer = await world.send(api.path, api.toBody(given, stream), session);
  // Failed completions are closed after the response.
  if (session.open > 0) await new Promise((resolve) => void setImmediate(resolve));
  try {
    const isStream = stream && answer.status === 200;
    const observed = isStream
      ? api.readStream(answer.text)
      : api.readPlain(JSON.parse(answer.text));
    return { session, answer, observed };
  } catch (error) {
    const problem = error instanceof z.ZodError ? z.prettifyError(error) : String(error);
    return { session, answer, observed: undefined, problem };
  }
}
