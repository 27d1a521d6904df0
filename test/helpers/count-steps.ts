/** Counts the steps of work, instead of measuring its time: the count does not depend on the machine or its load. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import * as z from "zod";

export interface StepCounter {
  /** Runs the work with this input. */
  count(input: Readonly<Record<string, string>>): Promise<Steps>;
  stop(): Promise<void>;
}

export interface Steps {
  readonly steps: number;
  /** Patterns that ran over texts of more than 4096 characters, sorted: each must be known to be linear. */
  readonly patterns: readonly string[];
}

const counted = z.object({
  blocks: z.number(),
  gatewayTools: z.number(),
  patterns: z.array(z.string()),
});

/** `module`: exports `work(input)`, which may return a promise. */
export async function startStepCounter(module: URL): Promise<StepCounter> {
  const program = fileURLToPath(new URL("step-counter.ts", import.meta.url));
  const child = fork(program, [module.href], {
    // Functions from the cache of compiled code would not be counted.
    env: { NODE_DISABLE_COMPILE_CACHE: "1" },
    execArgv: ["--disable-warning=ExperimentalWarning"],
  });
  const exited = once(child, "exit");

  async function receive(): Promise<unknown> {
    const answer: unknown = await Promise.race([
      once(child, "message").then(([message]: unknown[]) => message),
      exited.then(([code]: unknown[]) =>
        Promise.reject(new Error(`It exited with ${String(code)}`)),
      ),
    ]);
    return answer;
  }

  await receive();
  return {
    async count(input) {
      child.send(input);
      const { blocks, gatewayTools, patterns } = counted.parse(await receive());
      return { steps: blocks + gatewayTools, patterns };
    },
    async stop() {
      child.kill();
      await exited;
    },
  };
}
