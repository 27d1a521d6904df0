/** A vLLM server whose output is a function of the prompt; answers to prompts with `HOLD` stop after their first tokens until they are released. */
import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { spelledIds } from "./spelled.ts";
import { startVllmServer, toFrame, type VllmServer } from "./vllm-server.ts";

export interface HoldingVllm {
  readonly url: string;
  /** Completions that have begun and not ended. */
  readonly open: number;
  /** The prompts as text, without probes. */
  readonly prompts: string[];
  /** From now on, answers are sent whole, and stopped answers continue. */
  release(): void;
  /** From now on, answers stop again. */
  hold(): void;
  close(): Promise<void>;
}

const POLL_MS = 10;
const ANSWER = "<|channel|>final<|message|>Nothing was lost.<|return|>";

/** @param write The completion of a prompt, as spelled Harmony. */
export async function startHoldingVllm(
  write: (prompt: string) => string = () => ANSWER,
): Promise<HoldingVllm> {
  const prompts: string[] = [];
  const gate = { isHeld: true };

  async function complete(prompt: string, response: ServerResponse): Promise<void> {
    const isProbe = !prompt.startsWith("<|start|>system");
    if (!isProbe) prompts.push(prompt);
    const ids = spelledIds(isProbe ? "<|return|>" : write(prompt));
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(toFrame(ids.slice(0, 4), null));
    while (gate.isHeld && prompt.includes("HOLD") && !response.destroyed) await sleep(POLL_MS);
    response.end(`${toFrame(ids.slice(4), null)}${toFrame([], "stop")}data: [DONE]\n\n`);
  }

  const server: VllmServer = await startVllmServer({
    isFrozen: () => false,
    complete: (prompt, _, response) => complete(prompt, response),
  });
  return {
    url: server.url,
    prompts,
    get open() {
      return server.open;
    },
    release: () => void (gate.isHeld = false),
    hold: () => void (gate.isHeld = true),
    close: () => server.kill(),
  };
}
