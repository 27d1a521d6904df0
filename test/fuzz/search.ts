/** Running a case: plain and streamed, through the whole application, and everything checked. */
import { z } from "zod";
import { APIS } from "./apis.ts";
import type { Case } from "./case.ts";
import { checkRuns, type Run, type Violation } from "./check.ts";
import { createSession } from "./engine.ts";
import type { Fault } from "./faults.ts";
import { type World, worldFor } from "./world.ts";

/** `fault`: a defect that is put into the application, to see whether it is found. */
export async function runCase(given: Case, fault?: Fault): Promise<Violation[]> {
  const world = worldFor(given, fault);
  const plain = await ask(world, given, false);
  const streamed = await ask(world, given, true);
  return checkRuns(given, plain, streamed);
}

async function ask(world: World, given: Case, stream: boolean): Promise<Run> {
  const api = APIS[given.api];
  if (api === undefined) throw new Error(`there is no API named ${given.api}`);
  const session = createSession(given, stream ? given.engine.batches : [1]);
  const answer = await world.send(api.path, api.toBody(given, stream), session);
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
