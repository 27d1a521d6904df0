/** Runs the turns of a small corpus through the gateway's own core, and counts malformed ones and their repairs. */
import { EngineError } from "../../engines/engine-error.ts";
import { collectTurn, type FinishedTurn } from "../../turn/collect.ts";
import { runTurn } from "../../turn/run.ts";
import { createPause } from "../../streams/slices.ts";
import { DEFAULT_STEERING } from "../../turn/steering/settings.ts";
import { TurnError } from "../../turn/turn-error.ts";
import type { Examination } from "../examination.ts";
import { type Check, counted, type Finding, notApplicable, ok, printable } from "../finding.ts";
import { CORPUS, turnOf } from "../turns.ts";

/** Number of concurrent turns. */
const AT_ONCE = 4;
/** Tolerated share of malformed turns. A larger one is unusual even for a model that makes mistakes. */
const TOLERATED_SHARE = 0.1;

export const TURNS: Check = {
  id: "turns",
  title: "Turns are well formed",
  asked: "Questions, tools, schemas and languages, at temperature 1, through the gateway's core.",
  means: "Repairs guess what the model meant; turns that fail reach clients as errors.",
  isSlow: true,
  maxMs: 120_000,
  async run(examination, signal) {
    const { turns } = examination;
    if (turns === 0) return notApplicable("No turns were asked for (--turns).");
    const outcomes: CaseOutcome[] = [];
    for (let at = 0; at < turns; at += AT_ONCE) {
      const batch = Array.from({ length: Math.min(AT_ONCE, turns - at) }, (_, index) =>
        runOne(examination, at + index, signal),
      );
      outcomes.push(...(await Promise.all(batch)));
      signal.throwIfAborted();
    }
    return judge(outcomes);
  },
};

interface CaseOutcome {
  readonly repairs: ReadonlyMap<string, number>;
  /** The reason of the failure. */
  readonly failure?: string;
}

async function runOne(
  examination: Examination,
  index: number,
  signal: AbortSignal,
): Promise<CaseOutcome> {
  const { engine, contextLength } = examination;
  let calls = 0;
  const events = runTurn(
    { ...turnOf(CORPUS[index % CORPUS.length] ?? {}, index), id: `doctor-turn-${index}` },
    {
      engine,
      contextLength,
      layout: "guide",
      steering: DEFAULT_STEERING,
      newCallId: () => `call_${++calls}`,
      pause: createPause(),
      cacheSalts: undefined,
    },
    signal,
  );
  try {
    return toOutcome(await collectTurn(events));
  } catch (error) {
    if (!(error instanceof EngineError) && !(error instanceof TurnError)) throw error;
    return { repairs: new Map(), failure: printable(error.message, 120) };
  }
}

function toOutcome({ end }: FinishedTurn): CaseOutcome {
  return {
    repairs: end.recoveries,
    ...(end.failure !== undefined && { failure: printable(end.failure.message, 120) }),
  };
}

function judge(outcomes: readonly CaseOutcome[]): Finding {
  const total = outcomes.length;
  const failures = outcomes.flatMap(({ failure }) => failure ?? []);
  const malformed = outcomes.filter(({ repairs }) => repairs.size > 0).length;
  const repairs = new Map<string, number>();
  for (const outcome of outcomes) {
    for (const [name, count] of outcome.repairs) {
      repairs.set(name, (repairs.get(name) ?? 0) + count);
    }
  }
  const names = [...repairs].map(([name, count]) => `${name} ${count}×`).join(", ");
  const came =
    `${malformed} of ${counted(total, "turn")} malformed${names === "" ? "" : ` (${names})`}, ` +
    `${failures.length} failed${failures.length === 0 ? "" : ` (${failures[0]})`}.`;
  const measured = { turns: total, malformed, failed: failures.length };
  if (failures.length * 2 > total) {
    return {
      verdict: "broken",
      came,
      change: "See the checks above; most turns cannot be served by this engine.",
      measured,
    };
  }
  if (failures.length > 0 || malformed > total * TOLERATED_SHARE) {
    return {
      verdict: "degraded",
      came,
      change:
        "Look at the repairs in docs/harmony-rules.md; a wrong template or heavy quantization are usual.",
      measured,
    };
  }
  return ok(came, measured);
}
