/**
 * The model of the matrix: an engine that works through tasks by reading its prompt, whatever client asks. Its thoughts
 * are numbered, so the prompts show which of them a client brought back.
 */
import { type FakeVllm, startFakeVllm } from "../test/helpers/fake-vllm.ts";
import { thoughtsIn } from "../test/helpers/tool-loop.ts";

export interface Task {
  /** Stands in its thoughts. */
  readonly name: string;
  /** What the user writes. No task's text may be part of another's. */
  readonly ask: string;
  /** One after the other, each after the result of the one before. */
  readonly calls: readonly ToolCall[];
  readonly answer: string;
}

export interface ToolCall {
  readonly tool: string;
  readonly arguments: object;
}

export interface ScriptedAgent {
  readonly url: string;
  readonly prompts: readonly string[];
  thoughts(): ThoughtCount;
  close(): Promise<void>;
}

/** Over all prompts: the thoughts of the task in hand, one for each call that has its result. */
export interface ThoughtCount {
  readonly kept: number;
  readonly had: number;
}

export async function startScriptedAgent(tasks: readonly Task[]): Promise<ScriptedAgent> {
  const vllm: FakeVllm = await startFakeVllm((prompt) => {
    const state = readPrompt(tasks, prompt);
    if (state === undefined) return "<|channel|>final<|message|>Nothing to do.<|return|>";
    const { task, done } = state;
    const call = task.calls[done];
    const thought = `<|channel|>analysis<|message|>${thoughtOf(task, done)}<|end|><|start|>assistant`;
    if (call === undefined) return `${thought}<|channel|>final<|message|>${task.answer}<|return|>`;
    const args = JSON.stringify(call.arguments);
    return `${thought}<|channel|>commentary to=functions.${call.tool} <|constrain|>json<|message|>${args}<|call|>`;
  });
  return {
    url: vllm.url,
    prompts: vllm.prompts,
    thoughts: () => countThoughts(tasks, vllm.prompts),
    close: () => vllm.close(),
  };
}

interface PromptState {
  readonly task: Task;
  /** Calls that have their results. */
  readonly done: number;
}

function readPrompt(tasks: readonly Task[], prompt: string): PromptState | undefined {
  // Requests without tools are for titles and the like.
  if (!prompt.includes("namespace functions {")) return undefined;
  const asked = tasks
    .map((task) => ({ task, at: prompt.lastIndexOf(task.ask) }))
    .toSorted((a, b) => b.at - a.at)[0];
  if (asked === undefined || asked.at < 0) return undefined;
  const done = prompt.slice(asked.at).split("<|start|>functions.").length - 1;
  return { task: asked.task, done };
}

function thoughtOf(task: Task, call: number): string {
  return `${task.name}, thought ${call + 1}`;
}

function countThoughts(tasks: readonly Task[], prompts: readonly string[]): ThoughtCount {
  let kept = 0;
  let had = 0;
  for (const prompt of prompts) {
    const state = readPrompt(tasks, prompt);
    if (state === undefined) continue;
    const present = new Set(thoughtsIn(prompt));
    for (let call = 0; call < state.done; call++) {
      had++;
      if (present.has(thoughtOf(state.task, call))) kept++;
    }
  }
  return { kept, had };
}
