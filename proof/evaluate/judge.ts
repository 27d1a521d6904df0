/** The process of `judge.py`: executes calls and checks outcomes with BFCL's own code. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import * as z from "zod";
import type { Case } from "./suite.ts";

export interface FunctionCall {
  readonly name: string;
  /** A JSON object as it was written: 10.0 is no integer to Python. */
  readonly arguments: string;
}

const documents = z.record(z.string(), z.string());
const executed = z.object({ results: z.array(z.string()), sources: z.array(z.string()) });
const verdict = z.object({ valid: z.boolean(), problem: z.string() });

/** Characters of the process' last complaints. */
const TAIL = 2000;

export class Judge {
  readonly #child;
  readonly #waiting: PromiseWithResolvers<unknown>[] = [];
  readonly #ended = Promise.withResolvers<void>();
  #complaint = "";
  #hasEnded = false;

  /** @param folder contains `bfcl_eval` */
  constructor(folder: string, python = "python3") {
    this.#child = spawn(python, [join(import.meta.dirname, "judge.py"), folder]);
    this.#child.stderr.on("data", (data) => {
      this.#complaint = (this.#complaint + String(data)).slice(-TAIL);
    });
    // A write to a process that has ended: its requests fail below.
    this.#child.stdin.on("error", () => undefined);
    createInterface(this.#child.stdout).on("line", (line) => {
      this.#waiting.shift()?.resolve(JSON.parse(line));
    });
    this.#child.on("error", (error) => this.#end(error.message));
    this.#child.on("close", () => this.#end(this.#complaint));
  }

  /** By class: the file of its functions' definitions. */
  async documents() {
    return documents.parse(await this.#ask({ op: "documents" }));
  }

  /** @param run names the instances that all calls of one play share */
  async run(run: string, { entry }: Case, calls: readonly FunctionCall[]) {
    return executed.parse(await this.#ask({ op: "run", run, entry, calls }));
  }

  /** @param turns the calls as they were executed, by turn and step */
  async check(run: string, { entry, truth }: Case, turns: readonly string[][][]) {
    return verdict.parse(await this.#ask({ op: "check", run, entry, turns, truth }));
  }

  async close(): Promise<void> {
    this.#child.stdin.end();
    await this.#ended.promise;
  }

  #ask(request: object): Promise<unknown> {
    const answer = Promise.withResolvers<unknown>();
    this.#waiting.push(answer);
    if (this.#hasEnded) this.#end(this.#complaint);
    else this.#child.stdin.write(`${JSON.stringify(request)}\n`);
    return answer.promise;
  }

  #end(why: string): void {
    this.#hasEnded = true;
    this.#ended.resolve();
    for (const each of this.#waiting.splice(0)) {
      each.reject(new Error(`judge.py has ended: ${why}`));
    }
  }
}
