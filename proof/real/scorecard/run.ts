/**
 * Plays the corpus through servers' own chat endpoints and through the gateway over the same servers.
 *
 *     node proof/real/scorecard/run.ts --state FOLDER --vllm http://127.0.0.1:18000 --llama-cpp http://127.0.0.1:18080
 *
 * The servers must have been started by serve.sh with the same folder. Prints a table; `--failures` lists what was not
 * answered rightly, `--kind` plays one kind of case, `--write` records a run of everything over both servers in the docs.
 */
import { z } from "zod";
import { appendFileSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startGatewayProcess } from "../../../test/helpers/gateway-process.ts";
import { ask, type Outcome, waitUntilReady } from "./client.ts";
import { type CorpusLine, type CorpusTurn, KINDS, readCorpus } from "./corpus.ts";
import { judge, type Verdict } from "./judge.ts";
import { recordScores } from "./record-scores.ts";
import { printScores, type Score } from "./table.ts";

const { values } = parseArgs({
  options: {
    state: { type: "string" },
    vllm: { type: "string" },
    "llama-cpp": { type: "string" },
    kind: { type: "string" },
    failures: { type: "boolean", default: false },
    log: { type: "string" },
    write: { type: "boolean", default: false },
  },
});
const { state, failures, log } = values;
if (state === undefined) throw new Error("--state: the folder that serve.sh was given");
const isWhole =
  values.vllm !== undefined && values["llama-cpp"] !== undefined && values.kind === undefined;
if (values.write && !isWhole) throw new Error("--write: of all kinds, over both servers");
const folder = state;
const scriptFile = join(folder, "script.txt");
const MODEL = "openai/gpt-oss-20b";
const SERVERS = [
  ["vllm", "vLLM"],
  ["llama-cpp", "llama-server"],
] as const;
/**
 * Minimum limit of tokens; otherwise twice the completion. It ends endless output, which a model may produce under a
 * grammar that forbids its intended text.
 */
const ENOUGH = 120;
let number = Date.now();

const corpus = readCorpus().filter(({ kind }) => values.kind === undefined || kind === values.kind);
const scores: Score[] = [];
for (const [engine, server] of SERVERS) {
  const url = values[engine];
  if (url === undefined) continue;
  scores.push(await play(`${server}, its own endpoint`, `${url}/v1`));
  // Its probe is to meet the model itself.
  rmSync(scriptFile, { force: true });
  const gateway = await startGatewayProcess(["--engine", engine, "--url", url, "--model", MODEL]);
  await waitUntilReady(gateway.baseURL);
  scores.push(await play(`gateway over ${server}`, gateway.baseURL));
  await gateway.stop();
}
rmSync(scriptFile, { force: true });
const table = printScores(scores, KINDS);
console.log(table);
if (values.write) recordScores({ scores, table, cases: corpus.length });

async function play(target: string, baseURL: string): Promise<Score> {
  const verdicts: Score["verdicts"][number][] = [];
  for (const line of corpus) {
    for (const stream of [false, true]) {
      const found = await playLine(line, baseURL, stream, target);
      verdicts.push({ kind: line.kind, verdict: merge(found) });
    }
  }
  return { target, verdicts };
}

async function playLine(
  line: CorpusLine,
  baseURL: string,
  stream: boolean,
  target: string,
): Promise<Verdict[]> {
  const outcomes: Outcome[] = [];
  const verdicts: Verdict[] = [];
  for (const turn of line.turns) {
    const request = {
      model: MODEL,
      temperature: 0,
      stream,
      max_tokens: Math.max(ENOUGH, 2 * turn.completion.length),
      ...fillIn(turn.request, outcomes),
    };
    const { outcome, prompts, isRefused } = await playTurn(baseURL, request, turn);
    const neutral =
      line.kind === "injection"
        ? (await playTurn(baseURL, takeApart(request), turn)).prompts[0]
        : undefined;
    // A client's schema is not an excuse: its documents can be written.
    const isExcused = line.kind === "completion" || line.kind === "recording";
    const refusal = isRefused ? (isExcused ? "excused" : "counts") : undefined;
    const verdict = judge(turn, outcome, prompts, neutral, refusal);
    if (verdict.right === false) report(target, line, stream, turn, outcome, verdict);
    verdicts.push(verdict);
    outcomes.push(outcome);
    // Without its answer a loop cannot continue.
    if (outcome.error !== undefined) break;
  }
  return verdicts;
}

async function playTurn(baseURL: string, request: object, turn: CorpusTurn) {
  number += 1;
  rmSync(join(folder, "prompts.txt"), { force: true });
  const lines = [turn.completion, turn.asked_again ?? []].map((ids) => `${ids.join(" ")}\n`);
  writeFileSync(scriptFile, `${number}\n${lines.join("")}`);
  const outcome = await ask(baseURL, request);
  return { outcome, prompts: readPrompts(), isRefused: readState("refused.txt") === `${number}` };
}

function readPrompts(): number[][] {
  return readState("prompts.txt")
    .split("\n")
    .map((text) => text.split(" ").map(Number))
    .filter(([of]) => of === number)
    .map(([, ...ids]) => ids);
}

/** Empty where the request was refused before the engine. */
function readState(name: string): string {
  const file = join(folder, name);
  return existsSync(file) ? readFileSync(file, "utf8") : "";
}

/** Answers of earlier turns and the ids of their calls, where the corpus refers to them. */
function fillIn(request: CorpusTurn["request"], outcomes: readonly Outcome[]): object {
  const messages = request.messages.map((message) => {
    const { $assistant, reasoning, tool_call_id: id, ...rest } = message;
    if (typeof $assistant === "number") return toMessage(outcomes[$assistant], reasoning === true);
    if (typeof id === "object" && id !== null && "$call" in id) {
      return { ...rest, tool_call_id: outcomes[Number(id.$call)]?.callIds[0] ?? "call_missing" };
    }
    return message;
  });
  return { ...request, messages };
}

function toMessage(outcome: Outcome | undefined, keepsReasoning: boolean): object {
  const { content = "", reasoning = "", tool_calls: calls = [] } = outcome?.answer ?? {};
  return {
    role: "assistant",
    content: content === "" ? null : content,
    // Both spellings: servers differ.
    ...(keepsReasoning && { reasoning_content: reasoning, reasoning }),
    tool_calls: calls.map((call, index) => ({
      id: outcome?.callIds[index],
      type: "function",
      function: call,
    })),
  };
}

function takeApart(request: object): object {
  const text = JSON.stringify(request).replaceAll("<|", "( ").replaceAll("|>", " )");
  return z.looseObject({}).parse(JSON.parse(text));
}

/** A case is right if all its turns are. */
function merge(verdicts: readonly Verdict[]): Verdict {
  const some = (name: "leaks" | "fails" | "silent") => verdicts.some((each) => each[name]);
  const all = (name: "reasoning" | "carried" | "told") => {
    const known = verdicts.map((each) => each[name]).filter((each) => each !== undefined);
    return known.length === 0 ? {} : { [name]: known.every(Boolean) };
  };
  return {
    ...(verdicts.every(({ right }) => right !== undefined) && {
      right: verdicts.every(({ right }) => right === true),
    }),
    leaks: some("leaks"),
    fails: some("fails"),
    silent: some("silent"),
    ...all("reasoning"),
    ...all("carried"),
    ...all("told"),
    ...(verdicts.some(({ injected }) => injected !== undefined) && {
      injected: verdicts.some(({ injected }) => injected === true),
    }),
  };
}

function report(
  target: string,
  { id, class: name }: CorpusLine,
  stream: boolean,
  turn: CorpusTurn,
  outcome: Outcome,
  verdict: Verdict,
): void {
  const { raw: _, ...shown } = outcome;
  const entry = { target, id, class: name, stream, verdict, outcome: shown, accept: turn.accept };
  if (log !== undefined) appendFileSync(log, `${JSON.stringify(entry)}\n`);
  if (failures) console.log(JSON.stringify(entry));
}
