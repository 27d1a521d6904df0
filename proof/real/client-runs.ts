/** Runs a program of a client in front of a scripted model, and in front of the demo engine. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { z } from "zod";
import { startScriptedAgent, type Task } from "../matrix/scripted-agent.ts";
import { type GatewayProcess, startGatewayProcess } from "../../test/helpers/gateway-process.ts";
import { type ClientResult, recordClientResult } from "./client-results.ts";

export interface Program {
  /** The client, with its version. */
  readonly client: string;
  /** Its path below `proof/real`. */
  readonly script: string;
  readonly command: readonly [string, ...string[]];
  /** The client's task in front of the scripted model. Absent: it calls no tools. */
  readonly task?: "walk" | "shell";
}

const WALK: Task = {
  name: "walk",
  ask: "Take three steps.",
  calls: [1, 2, 3].map((n) => ({ tool: "step", arguments: { n } })),
  answer: "Three steps taken.",
};

/** The script for clients with their own tools. The last call ends the session. */
const SHELL: Task = {
  name: "shell",
  ask: "Write down three steps.",
  calls: [
    ...[1, 2, 3].map((n) => ({ tool: "shell", arguments: { command: `echo ${n} >> steps.txt` } })),
    { tool: "complete", arguments: {} },
  ],
  answer: "Three steps written.",
};

/** The script for clients that edit files from the model's text, without tools. */
const EDIT: Task = {
  name: "edit",
  ask: "Write a greeting.",
  calls: [],
  answer: "greeting.txt\n```\nhello\n```\n",
};

const output = z.object({
  answer: z.string(),
  steps: z.array(z.int()),
  checks: z.record(z.string(), z.boolean()),
});

/** The programs that are named, or all. */
export function choose<T extends { readonly script: string }>(
  all: readonly T[],
  names: readonly string[],
): T[] {
  const unknown = names.filter((name) => all.every(({ script }) => script !== name));
  if (unknown.length > 0) {
    const known = all.map(({ script }) => script).join(", ");
    throw new Error(`There is no program ${unknown.join(", ")}. There are: ${known}.`);
  }
  return all.filter(({ script }) => names.length === 0 || names.includes(script));
}

/**
 * Records the results of each program. A failure of any check fails the whole run; so does a program without checks.
 */
export async function runAll(programs: readonly Program[]): Promise<void> {
  const demo = await startGatewayProcess([]);
  try {
    for (const program of programs) {
      const result = await run(program, demo);
      console.log(program.script, program.client, result.reasoning ?? "", ...result.failed);
      recordClientResult(program.script, result);
      if (result.failed.length > 0) process.exitCode = 1;
    }
  } finally {
    await demo.stop();
  }
}

async function run(program: Program, demo: GatewayProcess): Promise<ClientResult> {
  const [file, ...args] = program.command;
  const agent = await startScriptedAgent([WALK, SHELL, EDIT]);
  const gateway = await startGatewayProcess(["--engine", "vllm", "--url", agent.url]);
  const toResult = (passed: string[], failed: string[]): ClientResult => ({
    client: program.client,
    date: new Date().toISOString().slice(0, 10),
    ...(program.task && { reasoning: agent.analysis() }),
    passed,
    failed,
  });
  try {
    const { stdout } = await promisify(execFile)(file, args, {
      cwd: import.meta.dirname,
      env: {
        PATH: process.env["PATH"],
        HOME: process.env["HOME"],
        AGENT_URL: gateway.baseURL,
        DEMO_URL: demo.baseURL,
        TASK: WALK.ask,
        SHELL_TASK: SHELL.ask,
        EDIT: EDIT.ask,
      },
      timeout: 300_000,
    });
    const { answer, steps, checks } = output.parse(
      JSON.parse(stdout.trim().split("\n").at(-1) ?? ""),
    );
    const analysis = agent.analysis();
    const all: Record<string, boolean> = {
      ...(program.task === "walk" && {
        "three calls and the answer": answer === WALK.answer && steps.join() === "1,2,3",
      }),
      ...(program.task && {
        "all reasoning in every prompt": analysis.had > 0 && analysis.kept === analysis.had,
      }),
      ...checks,
    };
    const names = Object.keys(all);
    const failed = names.filter((name) => all[name] !== true);
    return toResult(
      names.filter((name) => all[name] === true),
      names.length === 0 ? ["it checks nothing"] : failed,
    );
  } catch (error) {
    const { stderr } = z.object({ stderr: z.string().optional() }).parse(error);
    console.error(stderr === undefined || stderr === "" ? error : stderr);
    return toResult([], ["the program failed"]);
  } finally {
    await gateway.stop();
    await agent.close();
  }
}
