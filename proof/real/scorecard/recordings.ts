/**
 * Recorded output of gpt-oss, as cases: single answers (`test/fixtures/recordings`), and the turns of a real run
 * (`test/fixtures/swe-tape`). Each turn is a loop of one step: the client sends a request, receives the recorded
 * completion, sends it back with its reasoning and the recorded result, and continues.
 *
 * The model of the recording was offered namespaces of the system message, which no chat endpoint can offer. Here the tools are functions,
 * and recipients in headers name them: `repo_browser.search` is `functions.repo_browser_search`. Nothing else is changed.
 */
import { o200kHarmony } from "../../../src/tokenizer/index.ts";
import { readRecordings, type Recording } from "../../../test/helpers/recordings.ts";
import { spelledIds } from "../../../test/helpers/spelled.ts";
import { readTape, type TapeTurn } from "../../../test/helpers/swe-tape.ts";
import type { Answer, CorpusLine, CorpusTurn } from "./corpus.ts";

type Reading = Omit<NonNullable<TapeTurn["also_ok"]>[number], "malformed">;

const RECIPIENT = /\b(container|repo_browser|browser)\.(\w+)/g;
const RESULT = /<\|message\|>((?:(?!<\|message\|>)[^])*)<\|end\|><\|start\|>assistant$/;
const QUESTION = /<\|start\|>user<\|message\|>([^]*?)<\|end\|>/;
const ANSWER = "<|channel|>final<|message|>Done.<|return|>";

export function recordingLines(): CorpusLine[] {
  return [...runLines(), ...readRecordings().map(answerLine)];
}

function runLines(): CorpusLine[] {
  const turns = readTape();
  const [first] = turns;
  const [, question = ""] = QUESTION.exec(first?.prompt_delta ?? "") ?? [];
  const request = {
    tools: first?.tools.map((name) => toTool(nameOf(name), turns)),
    messages: [{ role: "user", content: question }],
  };
  return turns.map((turn, index) => ({
    id: `django-14122-${turn.turn}`,
    kind: "recording",
    class: turn.expected.malformed ?? "well-formed",
    source: "borislavmavrin/harmonyagent",
    licence: "MIT, Copyright (c) 2026 Borislav Mavrin",
    turns: toTurns(turn, request, RESULT.exec(turns[index + 1]?.prompt_delta ?? "")?.[1]),
  }));
}

/** @param result of the call; the recording lacks those of calls that its harness could not read. */
function toTurns(
  { response, expected, also_ok: alsoOk = [] }: TapeTurn,
  request: CorpusTurn["request"],
  result: string | undefined,
): CorpusTurn[] {
  const accept = [expected, ...alsoOk.map((other) => ({ ...expected, ...other }))].map(toAnswer);
  const asked = { request, completion: spelledIds(`${toFunctions(response)}<|call|>`), accept };
  const [call] = accept[0]?.tool_calls ?? [];
  if (call === undefined || result === undefined) return [asked];
  const sent = { role: "tool", tool_call_id: { $call: 0 }, content: result };
  const told = {
    request: {
      ...request,
      messages: [...request.messages, { $assistant: 0, reasoning: true }, sent],
    },
    completion: spelledIds(ANSWER),
    accept: [{ content: "Done.", reasoning: "", tool_calls: [] }],
    prompt_contains: [expected.reasoning ?? ""],
    prompt: { calls: [{ ...call, result }] },
  };
  return [asked, told];
}

function toAnswer({ reasoning, call, final }: Reading): Answer {
  const calls = call == null ? [] : [{ name: nameOf(call.recipient), arguments: call.arguments }];
  return { content: final ?? "", reasoning: reasoning ?? "", tool_calls: calls };
}

/** A well-formed one, or its beginning. */
const SINGLE =
  /^<\|channel\|>analysis<\|message\|>([^]*?)(?:<\|end\|><\|start\|>assistant<\|channel\|>final<\|message\|>([^]*)<\|return\|>)?$/;

function answerLine({ id, source, licence, question, completion }: Recording): CorpusLine {
  const [, reasoning, content] = SINGLE.exec(o200kHarmony().decode([...completion])) ?? [];
  if (reasoning === undefined) throw new Error(`${id} is not a single answer`);
  const isCut = content === undefined;
  const turn = {
    request: {
      messages: [{ role: "user", content: question }],
      ...(isCut && { max_tokens: completion.length }),
    },
    completion: [...completion],
    accept: [{ content: content ?? "", reasoning, tool_calls: [] }],
    finish: isCut ? "length" : "stop",
  };
  return { id, kind: "recording", class: "well-formed", source, licence, turns: [turn] };
}

/** OpenAI's API allows no dots in names. */
function nameOf(recipient: string): string {
  return recipient.replace(".", "_");
}

/** Renames recipients in headers only, because a text may mention such a name. */
function toFunctions(response: string): string {
  return response.replaceAll(/(?:^|<\|end\|>)[^]*?<\|message\|>/g, (header) =>
    header.replaceAll(RECIPIENT, "functions.$1_$2"),
  );
}

/** The parameters that the recorded calls use, of any type: some servers hold the model to a schema. */
function toTool(name: string, turns: readonly TapeTurn[]): object {
  const calls = turns.flatMap(({ expected: { call } }) =>
    call !== null && nameOf(call.recipient) === name ? [call] : [],
  );
  const used = calls.flatMap((call) => Object.keys(JSON.parse(call.arguments)));
  const properties = Object.fromEntries(used.map((each) => [each, {}]));
  const parameters = { type: "object", properties, additionalProperties: true };
  return { type: "function", function: { name, description: "A tool.", parameters } };
}
