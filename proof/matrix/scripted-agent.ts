/**
 * The model of the matrix: an engine that works through tasks by reading its prompt, whatever the client. Its
 * analysis messages are numbered, so the prompts show which of them a client sent back.
 */
import { type HoldingVllm, startHoldingVllm } from "../../test/helpers/holding-vllm.ts";
import { analysisIn } from "../../test/helpers/tool-loop.ts";

export interface Task {
  /** Appears in its analysis messages. */
  readonly name: string;
  /** The user's message. No task's text may be part of another's. */
  readonly ask: string;
  /** Calls, each after the result of the previous one. */
  readonly calls: readonly ToolCall[];
  readonly answer: string;
  /** A summary's answer ends with the number of results that the prompt has. */
  readonly countsSteps?: true;
}

export interface ToolCall {
  readonly tool: string;
  /** Default: `functions`. */
  readonly namespace?: string;
  /**
   * Serialized as JSON; text is written as it is. A function computes them from the prompt, for instance from an
   * earlier result.
   */
  readonly arguments: object | string | ((prompt: string) => object);
  /** The text between `<|start|>assistant` and `<|message|>`, for a malformed call. */
  readonly header?: string;
}

export interface ScriptedAgent {
  readonly url: string;
  readonly prompts: readonly string[];
  analysis(): AnalysisCount;
  close(): Promise<void>;
}

/** Over all prompts: the analysis messages of the current task, one for each call that has a result. */
export interface AnalysisCount {
  readonly kept: number;
  readonly had: number;
}

export async function startScriptedAgent(tasks: readonly Task[]): Promise<ScriptedAgent> {
  const vllm: HoldingVllm = await startHoldingVllm((prompt) => {
    const state = readPrompt(tasks, prompt);
    if (state === undefined) return "<|channel|>final<|message|>Nothing to do.<|return|>";
    const { task, done } = state;
    const call = task.calls[done];
    // Output under a schema or a grammar is opened by the gateway, after the analysis or the name of the tool.
    if (prompt.endsWith("<|message|>")) {
      return call === undefined ? `${answerOf(task, prompt)}<|return|>` : writeBody(call, prompt);
    }
    const analysis = `<|channel|>analysis<|message|>${analysisOf(task, done)}<|end|><|start|>assistant`;
    if (call === undefined)
      return `${analysis}<|channel|>final<|message|>${answerOf(task, prompt)}<|return|>`;
    return `${analysis}${writeCall(call, prompt)}`;
  });
  return {
    url: vllm.url,
    prompts: vllm.prompts,
    analysis: () => countAnalysis(tasks, vllm.prompts),
    close: () => vllm.close(),
  };
}

function answerOf({ answer, countsSteps }: Task, prompt: string): string {
  return countsSteps ? `${answer} Steps done: ${countResults(prompt)}.` : answer;
}

function writeCall(call: ToolCall, prompt: string): string {
  const { tool, namespace = "functions" } = call;
  const contentType = typeof call.arguments === "string" ? "" : " <|constrain|>json";
  const header = call.header ?? `<|channel|>commentary to=${namespace}.${tool}${contentType}`;
  return `${header}<|message|>${writeBody(call, prompt)}`;
}

function writeBody({ arguments: input }: ToolCall, prompt: string): string {
  const value = typeof input === "function" ? input(prompt) : input;
  return `${typeof value === "string" ? value : JSON.stringify(value)}<|call|>`;
}

interface PromptState {
  readonly task: Task;
  /** Calls with their results. */
  readonly done: number;
}

function readPrompt(tasks: readonly Task[], prompt: string): PromptState | undefined {
  // Requests without tools are for titles and summaries.
  const possible = prompt.includes("namespace functions {")
    ? tasks
    : tasks.filter(({ calls }) => calls.length === 0);
  const last = Array.from(
    prompt.matchAll(/<\|start\|>user<\|message\|>(.*?)<\|end\|>/gs),
    ({ index, 1: text = "" }) => ({ index, task: lastAsked(possible, text) }),
  ).findLast(({ task }) => task !== undefined);
  if (last?.task === undefined) return undefined;
  const since = prompt.slice(last.index);
  const summarized = /Steps done: (\d+)/.exec(since)?.[1] ?? 0;
  return { task: last.task, done: countResults(since) + Number(summarized) };
}

function countResults(prompt: string): number {
  return prompt.match(/<\|start\|>[^<]* to=assistant/g)?.length ?? 0;
}

function lastAsked(tasks: readonly Task[], text: string): Task | undefined {
  return tasks
    .map((task) => ({ task, at: text.lastIndexOf(task.ask) }))
    .filter(({ at }) => at >= 0)
    .toSorted((a, b) => b.at - a.at)[0]?.task;
}

function analysisOf(task: Task, call: number): string {
  return `${task.name}, analysis ${call + 1}`;
}

function countAnalysis(tasks: readonly Task[], prompts: readonly string[]): AnalysisCount {
  let kept = 0;
  let had = 0;
  for (const prompt of prompts) {
    const state = readPrompt(tasks, prompt);
    if (state === undefined) continue;
    const present = new Set(analysisIn(prompt));
    for (let call = 0; call < state.done; call++) {
      had++;
      if (present.has(analysisOf(state.task, call))) kept++;
    }
  }
  return { kept, had };
}
